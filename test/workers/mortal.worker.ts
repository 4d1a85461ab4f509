/** A thread that does what it is told: answers, or ends in one way or another. */
import { openThreadLine } from '../../src/workers/thread-setup.ts';

const line = openThreadLine<{ number: number }, string, string>();
line.send(`started ${line.setup.number}`);
line.onRequest((request) => {
  if (request === 'throw') throw new Error('thrown for the test');
  if (request === 'reject') void Promise.reject(new Error('rejected for the test'));
  if (request === 'exit') process.exit(7);
  if (request === 'stop') process.exit(0);
  if (request === 'hang') for (;;);
  line.send(`answer to ${request}`);
});
