/**
 * The copy that a core makes of itself for another one: delivery.mdb, scans.mdb and its journals, management.mdb, at
 * moments that fit each other (engine/backup/copy-data.ts), without the keys and without what names this core.
 *
 * Keys come as rows of management.mdb, encrypted (nodes/secrets.ts). Results of attempts that are not in delivery.mdb yet
 * are left out: they are this core's to commit.
 */
import { bytesToCopy, copyData, hashedFiles } from '../../engine/backup/copy-data.ts';
import { assertSpace, type CopyProgress, removeLocks } from '../../engine/backup/copy-files.ts';
import { ownAccess } from '../../engine/backup/folder-access.ts';
import { ownVersions } from '../../engine/backup/manifest.ts';
import { quickFaults } from '../../engine/data-files.ts';
import { DataFolderError, dataFolderAt, makeFolder } from '../../engine/data-folder.ts';
import { syncJournals } from '../scans/whole-journals.ts';
import type { MadeCopy } from './copy-manifest.ts';

export interface DraftOptions {
  /** The data folder. */
  readonly path: string;
  /** A folder that does not exist. */
  readonly draft: string;
  readonly progress: CopyProgress;
}

/** @throws DataFolderError where it is damaged, or there is no space; Error of the system */
export async function makeDraft({ path, draft, progress }: DraftOptions): Promise<MadeCopy> {
  const folder = dataFolderAt(path);
  const content = 'stores';
  const faults = quickFaults(folder);
  if (faults.length > 0) throw damaged(faults);
  makeFolder(draft);
  const bytes = bytesToCopy({ folder, content });
  assertSpace(draft, bytes, 'copy the data of this core for another one');
  progress.begin(bytes);
  const copied = await copyData({
    folder,
    access: ownAccess(folder),
    content,
    draft,
    progress,
    unsound: new Set(),
    mark: undefined,
  });
  if (copied.unreadable.length > 0) throw damaged(copied.unreadable);
  await syncJournals(folder.journalRoot);
  removeLocks(draft);
  // A service writes the versions of its program.
  return { data: ownVersions(), files: await hashedFiles(draft, copied) };
}

const damaged = (faults: readonly string[]): DataFolderError =>
  new DataFolderError(`Cannot copy the data of this core: ${faults.join('; ')}`);
