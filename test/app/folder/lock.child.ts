/** A process that has the lock of a folder, and ends as it is told. */
import { openDataFolder } from '../../../src/app/folder/data-folder.ts';
import { FolderLock } from '../../../src/app/folder/folder-lock.ts';

const [order, path = ''] = process.argv.slice(2);
const folder = openDataFolder(path);
if (order === 'lock') await FolderLock.take(folder);
else await FolderLock.replace(folder);
process.on('message', (how) => {
  if (how === 'exit') process.exit(0);
  process.disconnect();
});
process.send?.('locked');
