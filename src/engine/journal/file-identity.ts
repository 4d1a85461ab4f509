/**
 * The identity of a folder or file at the start: file system and inode. Later its path may lead elsewhere (moved away,
 * unmounted, replaced), so call `assertInPlace` before you open it. An open file still works.
 */
import { statSync } from 'node:fs';

export interface FileIdentity {
  readonly path: string;
  /** `device:inode` */
  readonly identity: string;
}

/** @throws Error when nothing is there */
export function identify(path: string): FileIdentity {
  const identity = identityOf(path);
  if (identity === undefined) throw new Error(`Cannot find ${path}, expected a file or a folder`);
  return { path, identity };
}

/** The problem in words for an operator; undefined = it is in place. */
export function displacement({ path, identity }: FileIdentity): string | undefined {
  const found = identityOf(path);
  if (found === identity) return undefined;
  return found === undefined ? `${path} is not there` : `${path} is another one than at the start`;
}

export class DisplacedError extends Error {
  override readonly name = 'DisplacedError';
}

/** @throws DisplacedError */
export function assertInPlace(identity: FileIdentity): void {
  const problem = displacement(identity);
  if (problem !== undefined) throw new DisplacedError(`${problem}, expected it back`);
}

function identityOf(path: string): string | undefined {
  try {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found && `${found.dev}:${found.ino}`;
  } catch {
    // A parent is not a folder, or this user may not enter it.
    return undefined;
  }
}
