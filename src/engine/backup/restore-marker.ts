/**
 * `restore.json`: a restore into this folder is not finished, and nothing else may use it.
 *
 *   { "state": "copying", … }    .restoring/ is being written; the folder has nothing else
 *   { "state": "moving", … }     .restoring/ is complete and checked; some of it may stand in its place already
 *   (no file)                    all is in its place
 *
 * Each state begins with the renaming of a synced file, and the last ends with its deletion: a restore that is
 * killed anywhere leaves one of the three.
 */
import { join } from 'node:path';
import { parseJson, readIfThere } from '../small-files.ts';

export const restoreMarkerName = 'restore.json';
export const restoreDraftName = '.restoring';

export interface RestoreMarker {
  readonly state: 'copying' | 'moving';
  /** Folder of the backup. */
  readonly from: string;
  /** SHA-256 of the backup's manifest. */
  readonly backup: string;
}

/** Undefined where no restore is unfinished. One that cannot be read counts as copying. */
export function readRestoreMarker(folder: string): RestoreMarker | undefined {
  const text = readIfThere(join(folder, restoreMarkerName));
  if (text === undefined) return undefined;
  const content = parseJson(String(text));
  const field = (name: string): unknown => Reflect.get(Object(content), name);
  return {
    state: field('state') === 'moving' ? 'moving' : 'copying',
    from: textOf(field('from')),
    backup: textOf(field('backup')),
  };
}

export function restoreMarkerText(marker: RestoreMarker): string {
  return `${JSON.stringify(marker)}\n`;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
