/**
 * `adopt.json`: the folder of a machine alone is being made the first core of a cluster, and nothing else may use it until
 * that is finished or taken back.
 *
 *   { "state": "preparing", … }   changes are in this folder alone, and none that a machine alone minds
 *   { "state": "leading", … }     the cluster's logs may begin with what is here
 *   (no file)                     finished: the folder has `cluster.json`
 *
 * `core` and `delivery` are random, and name what is here in the two logs.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson, readIfThere, replaceFile, syncFolder } from '../small-files.ts';

const fileName = 'adopt.json';

export interface Adoption {
  readonly state: 'preparing' | 'leading';
  /** Base64. */
  readonly core: string;
  readonly delivery: string;
}

/** Undefined where none is unfinished. One that cannot be read is told as preparing, with empty names. */
export function readAdoption(folder: string): Adoption | undefined {
  const text = readIfThere(join(folder, fileName));
  if (text === undefined) return undefined;
  const content = parseJson(String(text));
  const field = (name: string): string => {
    const value: unknown = Reflect.get(Object(content), name);
    return typeof value === 'string' ? value : '';
  };
  const state = field('state') === 'leading' ? 'leading' : 'preparing';
  return { state, core: field('core'), delivery: field('delivery') };
}

export function writeAdoption(folder: string, adoption: Adoption): void {
  replaceFile(join(folder, fileName), `${JSON.stringify(adoption)}\n`);
}

/** Survives a loss of power. */
export function removeAdoption(folder: string): void {
  rmSync(join(folder, fileName), { force: true });
  syncFolder(folder);
}
