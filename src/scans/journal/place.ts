/**
 * A folder or file as it was found at the start, by file system and inode. A path may lead elsewhere later: the folder
 * was moved away, its disk unmounted, or another one put there. A file that is open goes on wherever it is; what is
 * opened by its path must first be asked for with `assertInPlace`, or it would be made anew at a path that has nothing,
 * or read from what belongs to others.
 */
import { statSync } from 'node:fs';

export interface Place {
  readonly path: string;
  /** `device:inode` */
  readonly identity: string;
}

/** @throws Error of the system where nothing is */
export function placeOf(path: string): Place {
  const identity = identityOf(path);
  if (identity === undefined) throw new Error(`Cannot find ${path}, expected a file or a folder`);
  return { path, identity };
}

/** What an operator sees of it, or undefined: it is where it was. */
export function displacement({ path, identity }: Place): string | undefined {
  const found = identityOf(path);
  if (found === identity) return undefined;
  return found === undefined ? `${path} is not there` : `${path} is another one than at the start`;
}

/** It is not where it was at the start. */
export class PlaceError extends Error {
  override readonly name = 'PlaceError';
}

/** @throws PlaceError */
export function assertInPlace(place: Place): void {
  const problem = displacement(place);
  if (problem !== undefined) throw new PlaceError(`${problem}, expected it back`);
}

function identityOf(path: string): string | undefined {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found && `${found.dev}:${found.ino}`;
  } catch {
    // A parent that is no folder, or that this user may not enter.
    return undefined;
  }
}
