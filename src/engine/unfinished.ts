/**
 * Work on a data folder that has not finished. While its marker is there, no other command and no service uses the folder.
 *
 *   restore.json   a restore
 *     { "state": "copying", … }     .restoring/ is being written; the folder has nothing else
 *     { "state": "moving", … }      .restoring/ is complete and checked; some of it may be in place already
 *   adopt.json     the move of a single machine's folder into a cluster, as its first core
 *     { "state": "preparing", … }   only this folder has changed, in no way that affects a single machine
 *     { "state": "leading", … }     the cluster's logs may begin with this data
 *
 * A state begins when a synced file is renamed; the last one ends when the marker is deleted.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson, readIfThere, replaceFile, syncFolder } from './small-files.ts';

export const restoreMarkerName = 'restore.json';
export const restoreDraftName = '.restoring';
const adoptionName = 'adopt.json';

export interface RestoreMarker {
  readonly state: 'copying' | 'moving';
  readonly from: string;
  /** SHA-256 of the backup's manifest. */
  readonly backup: string;
}

export interface Adoption {
  readonly state: 'preparing' | 'leading';
  /** Random names of this data in the cluster's two logs, in Base64. */
  readonly core: string;
  readonly delivery: string;
}

/** An unreadable marker counts as copying. */
export function readRestoreMarker(folder: string): RestoreMarker | undefined {
  const field = readFields(join(folder, restoreMarkerName));
  if (field === undefined) return undefined;
  const state = field('state') === 'moving' ? 'moving' : 'copying';
  return { state, from: field('from'), backup: field('backup') };
}

/** An unreadable marker counts as preparing, with empty names. */
export function readAdoption(folder: string): Adoption | undefined {
  const field = readFields(join(folder, adoptionName));
  if (field === undefined) return undefined;
  const state = field('state') === 'leading' ? 'leading' : 'preparing';
  return { state, core: field('core'), delivery: field('delivery') };
}

/** The marker's strings by name, "" for any other value. */
function readFields(path: string): ((name: string) => string) | undefined {
  const text = readIfThere(path);
  if (text === undefined) return undefined;
  const content = Object(parseJson(String(text)));
  return (name) => {
    const value: unknown = Reflect.get(content, name);
    return typeof value === 'string' ? value : '';
  };
}

export function writeAdoption(folder: string, adoption: Adoption): void {
  replaceFile(join(folder, adoptionName), `${JSON.stringify(adoption)}\n`);
}

export function removeAdoption(folder: string): void {
  rmSync(join(folder, adoptionName), { force: true });
  syncFolder(folder);
}
