/**
 * A restore that has not finished. While its marker `restore.json` is there, no other command and no service uses the folder.
 *
 *   { "state": "copying", … }   .restoring/ is being written; the folder has nothing else
 *   { "state": "moving", … }    .restoring/ is complete and checked; some of it may be in place already
 *
 * A state begins when a synced file is renamed; the last one ends when the marker is deleted.
 */
import { join } from 'node:path';
import { parseJson, readIfThere } from './small-files.ts';

export const restoreMarkerName = 'restore.json';
export const restoreDraftName = '.restoring';

export interface RestoreMarker {
  readonly state: 'copying' | 'moving';
  readonly from: string;
  /** SHA-256 of the backup's manifest. */
  readonly backup: string;
}

/** An unreadable marker counts as copying. */
export function readRestoreMarker(folder: string): RestoreMarker | undefined {
  const text = readIfThere(join(folder, restoreMarkerName));
  if (text === undefined) return undefined;
  const content = Object(parseJson(String(text)));
  const field = (name: string): string => {
    const value: unknown = Reflect.get(content, name);
    return typeof value === 'string' ? value : '';
  };
  const state = field('state') === 'moving' ? 'moving' : 'copying';
  return { state, from: field('from'), backup: field('backup') };
}
