/** A successor that takes a folder over up to a step, and hangs there. */
import { openDataFolder } from '../../../src/engine/data-folder.ts';
import { replaceLock } from '../../../src/engine/takeover/folder-lock.ts';
import { PredecessorConnection } from '../../../src/engine/takeover/predecessor-connection.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { hello } from './conversation.ts';

const [path = '', lastStep] = process.argv.slice(2);
const folder = openDataFolder(path);

let predecessor: PredecessorConnection | undefined;
const steps = {
  booting: async () => {
    predecessor = await PredecessorConnection.find(folder, hello, createLog('silent'));
  },
  yielding: () => void predecessor?.yield(),
  yielded: async () => void (await predecessor?.yield()),
  locked: async () => void (await replaceLock(folder)),
  listening: () => predecessor?.listening(),
};
process.on('message', () => undefined);
for (const [name, step] of Object.entries(steps)) {
  if (name === 'yielding' && lastStep !== name) continue;
  await step();
  if (name === lastStep) break;
}
process.send?.(lastStep);
