/** A process that has the lock of a folder, as this release or an older one takes it, and ends as it is told. */
import { once } from 'node:events';
import { openSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { openDataFolder } from '../../../src/engine/data-folder.ts';
import { lockDataFolder, replaceLock } from '../../../src/engine/takeover/folder-lock.ts';

const [order, path = ''] = process.argv.slice(2);
const folder = openDataFolder(path);
if (order === 'lock') await lockDataFolder(folder);
else if (order === 'replace') await replaceLock(folder);
else {
  if (order !== 'bind alone') openSync(folder.managementFile, 'a');
  const server = createServer((socket) => socket.destroy());
  server.listen(join(path, 'service.sock'));
  await once(server, 'listening');
  server.unref();
}
if (order === 'bind and stay') process.on('SIGTERM', () => undefined);
process.on('message', (how) => {
  if (how === 'exit') process.exit(0);
  process.disconnect();
});
process.send?.('locked');
