/** A thread that answers each command, or ends in one of five ways. */
import { openThreadChannel } from '../../../src/platform/workers/supervised-thread.ts';

const channel = openThreadChannel<{ number: number }, string, string>();
channel.send(`started ${channel.setup.number}`);

channel.onCommand((command) => {
  if (command === 'throw') throw new Error('thrown for the test');
  if (command === 'reject') void Promise.reject(new Error('rejected for the test'));
  if (command === 'exit') process.exit(7);
  if (command === 'stop') process.exit(0);
  if (command === 'hang') for (;;);
  channel.send(`answer to ${command}`);
});
