/**
 * Thread entry: makes a copy of this core for another one, and ends. The copy has delivery.mdb, scans.mdb and its journals,
 * and management.mdb, at moments that fit each other (engine/backup/copy-data.ts).
 *
 * It has no keys: they come as rows of management.mdb, encrypted (nodes/secrets.ts). Results of attempts
 * that delivery.mdb lacks are left out: this core commits them.
 */
import { bytesToCopy, copyData, hashedFiles } from '../../engine/backup/copy-data.ts';
import { assertSpace, removeLocks } from '../../engine/backup/copy-files.ts';
import { ownAccess } from '../../engine/backup/folder-access.ts';
import { ownVersions } from '../../engine/backup/manifest.ts';
import { quickFaults } from '../../engine/data-files.ts';
import { DataFolderError, dataFolderAt, makeFolder } from '../../engine/data-folder.ts';
import { messageOf } from '../../model/failure.ts';
import { openThreadChannel } from '../../workers/supervised-thread.ts';
import { syncJournals } from '../scans/received-positions.ts';
import type { MadeCopy } from './copy-manifest.ts';
import type { CoreCopyMessage, CoreCopySetup } from './copy-sender.ts';

const channel = openThreadChannel<CoreCopySetup, CoreCopyMessage, 'stop'>();
let isStopped = false;
channel.onCommand(() => {
  isStopped = true;
});
const assertRunning = (): void => {
  if (isStopped) throw new Error('the copy was stopped');
};
const ignored = (): void => undefined;
const progress = { begin: ignored, add: assertRunning, file: ignored, check: ignored };

/** @throws DataFolderError if the data is damaged, or the disk full; Error of the system */
async function copyTo({ path, draft }: CoreCopySetup): Promise<MadeCopy> {
  const folder = dataFolderAt(path);
  const content = 'stores';
  assertSound(quickFaults(folder));
  makeFolder(draft);
  assertSpace(
    draft,
    bytesToCopy({ folder, content }),
    'copy the data of this core for another one',
  );
  const unsound = new Set<string>();
  const access = ownAccess(folder);
  const copied = await copyData({
    folder,
    access,
    content,
    draft,
    progress,
    unsound,
    mark: undefined,
  });
  assertSound(copied.unreadable);
  await syncJournals(folder.journalRoot);
  removeLocks(draft);
  // A service writes the versions of its program.
  return { data: ownVersions(), files: await hashedFiles(draft, copied) };
}

function assertSound(faults: readonly string[]): void {
  if (faults.length === 0) return;
  throw new DataFolderError(`Cannot copy the data of this core: ${faults.join('; ')}`);
}

copyTo(channel.setup)
  .then(
    (made) => channel.send({ kind: 'made', ...made }),
    (error: unknown) => channel.send({ kind: 'failed', detail: messageOf(error) }),
  )
  .finally(() => process.exit(0));
