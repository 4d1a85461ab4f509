/**
 * The access of a backup to the data files. While a service runs, a command does not open them in LMDB. It asks the
 * service (commands/folder-commands.ts) to inspect the folder and to keep the pages of a snapshot.
 */
import { join } from 'node:path';
import { StoreEnvironment } from '../../../store/environment.ts';
import type { DataFolder } from '../data-folder.ts';
import { inspectFolder, type Inspection } from '../installation.ts';

export interface FolderAccess {
  /** @throws DataFolderError */
  inspect(): Promise<Inspection>;
  /** Keeps the pages of a data file's current snapshot. @param name such as `scans.mdb` @returns releases them */
  pin(name: string): Promise<() => Promise<void>>;
}

/** For the process that owns the folder. */
export const ownAccess = (folder: DataFolder): FolderAccess => ({
  inspect: () => inspectFolder(folder),
  pin: async (name) => pinSnapshot(join(folder.path, name)),
});

/** @returns releases it */
export function pinSnapshot(path: string): () => Promise<void> {
  const environment = new StoreEnvironment(path);
  const release = environment.holdSnapshot();
  return async () => {
    release();
    await environment.close();
  };
}
