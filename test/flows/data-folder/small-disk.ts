/** A real disk that a test can fill. */
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, writeSync } from 'node:fs';

/** @returns false where this user may not: a mount needs a privilege that not every machine gives */
export function mountSmallDisk(folder: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', folder], { stdio: 'pipe' });
    return true;
  } catch {
    return false;
  }
}

export const unmount = (folder: string): void => void execFileSync('umount', ['--lazy', folder]);

/** Writes a file until the disk takes no more. */
export function fillDisk(file: string): void {
  const descriptor = openSync(file, 'w');
  const zeros = new Uint8Array(4_096);
  try {
    for (;;) writeSync(descriptor, zeros);
  } catch {
    // Full: that is what was wanted.
  } finally {
    closeSync(descriptor);
  }
}
