/** A thread that answers each command, or ends in one of five ways. */
import { getHeapSpaceStatistics } from 'node:v8';
import { openThreadChannel } from '../../src/workers/supervised-thread.ts';

const channel = openThreadChannel<{ number: number }, string, string>();
channel.send(`started ${channel.setup.number}`);

/** Bytes of the space of young objects, once many have been made, of which the last survive. */
function youngBytes(): number {
  const survivors = Array.from<object>({ length: 30_000 });
  for (let made = 0; made < 3_000_000; made++) survivors[made % survivors.length] = { made };
  const young = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  return young?.space_size ?? Infinity;
}

channel.onCommand((command) => {
  if (command === 'throw') throw new Error('thrown for the test');
  if (command === 'reject') void Promise.reject(new Error('rejected for the test'));
  if (command === 'exit') process.exit(7);
  if (command === 'stop') process.exit(0);
  if (command === 'hang') for (;;);
  if (command === 'young') return channel.send(`young ${youngBytes()}`);
  channel.send(`answer to ${command}`);
});
