/**
 * Requests to the service that owns the data folder, instead of opening its data files: `inspect` for `backup` and
 * `doctor`, `snapshot` for `backup`, `verify`.
 */
import { join } from 'node:path';
import { Failure } from '../../model/failure.ts';
import type { FolderAccess } from '../folder/backup/folder-access.ts';
import { storesOf } from '../folder/data-files.ts';
import { type DataFolder, DataFolderError } from '../folder/data-folder.ts';
import type { Inspection } from '../folder/installation.ts';
import type { Verification, VerifyProgress } from '../folder/verify/verify.ts';
import { askService } from './ask-service.ts';
import { runInThread, type VerifyStep } from './folder-thread.ts';
import type { CommandTable } from './command-table.ts';

export const folderCommands = (folder: DataFolder): CommandTable => ({
  inspect: (_input, control) => runInThread(folder, { kind: 'inspect' }, control),
  /** Keeps the snapshot of one data file until the client disconnects. */
  snapshot: async (input, control) => {
    const name = String(input);
    if (!storesOf(folder).includes(join(folder.path, name))) {
      throw new Failure('not_found', `Data file ${name} not found`);
    }
    await runInThread(folder, { kind: 'snapshot', name }, control);
    // A waiting client cannot use its copy.
    control.signal.throwIfAborted();
  },
  verify: (_input, control) => runInThread(folder, { kind: 'verify' }, control),
});

/** The folder of a running service. @returns undefined if none runs @throws DataFolderError */
export async function serviceAccess(folder: DataFolder): Promise<FolderAccess | undefined> {
  const asked = await askService(folder, 'inspect', null);
  if (asked === undefined) return undefined;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the service of this folder has made it
  const state = asked.result as Inspection;
  return { inspect: async () => state, pin: (name) => pin(folder, name) };
}

/** @returns undefined if no service runs @throws Failure, DataFolderError */
export async function verifyByService(
  folder: DataFolder,
  progress: VerifyProgress,
): Promise<Verification | undefined> {
  const asked = await askService(folder, 'verify', null, (step) => {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the service of this folder has made it
    const { kind, bytes } = step as VerifyStep;
    progress[kind](bytes);
  });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the service of this folder has made it
  return asked?.result as Verification | undefined;
}

async function pin(folder: DataFolder, name: string): Promise<() => Promise<void>> {
  const ending = new AbortController();
  const { promise: pinned, resolve } = Promise.withResolvers<unknown>();
  const asked = askService(folder, 'snapshot', name, resolve, ending.signal);
  const ended = asked.then((answer) => {
    if (answer !== undefined) return;
    throw new DataFolderError(
      `Cannot back up ${folder.path}: the service has ended; run the command again`,
    );
  });
  // Releasing the pin reports the error.
  ended.catch(() => undefined);
  await Promise.race([pinned, ended]);
  return async () => {
    ending.abort();
    await ended;
  };
}
