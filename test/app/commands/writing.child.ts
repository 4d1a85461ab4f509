/** Inspects and pins a data folder in the middle of a transaction of this thread, as a busy service does. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { folderCommands } from '../../../src/app/commands/folder-commands.ts';
import { dataFolderAt } from '../../../src/app/folder/data-folder.ts';
import { StoreEnvironment } from '../../../src/store/environment.ts';

const folder = dataFolderAt(process.argv[2] ?? '');
const commands = folderCommands(folder);
const environment = new StoreEnvironment(folder.managementFile);
const table = environment.table<number, string>('texts');
for (let round = 0; round < 12; round++) {
  const writing = environment.transaction(() => table.put(round, 'x'));
  for (let turn = 0; turn < round % 4; turn++) await nextTurn();
  // LMDB's thread gets the writer's lock, and waits for this one.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  const ending = new AbortController();
  const control = { progress: () => ending.abort(), signal: ending.signal };
  const name = round % 3 === 0 ? 'snapshot' : 'inspect';
  await Promise.allSettled([commands[name]?.('management.mdb', control)]);
  await writing;
}
await environment.close();
process.exit(0);
