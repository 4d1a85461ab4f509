/** A management environment in a temporary folder, removed after the test; reopened on demand. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, onTestFinished } from 'vitest';
import { openManagement, type Management } from '../../src/store/management/management.ts';

/** For one test, on the disk that a user would have. */
export function temporaryFolder(disk = tmpdir()): string {
  const folder = mkdtempSync(join(disk, 'quietzone-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** For all tests of a file. */
export function sharedFolder(disk = tmpdir()): string {
  const folder = mkdtempSync(join(disk, 'quietzone-shared-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

/** Each of its tables is a commit that waits for the disk: only the first of a worker makes them. */
let emptyFile: Uint8Array | undefined;

export function temporaryManagement() {
  const folder = temporaryFolder();
  const path = join(folder, 'management.mdb');
  if (emptyFile !== undefined) writeFileSync(path, emptyFile);
  const temporary = {
    folder,
    store: openManagement(path, 'create'),
    /** Closes and opens again, as a restart does. */
    async reopen(): Promise<Management> {
      await temporary.store.close();
      temporary.store = openManagement(path, 'create');
      return temporary.store;
    },
  };
  emptyFile ??= readFileSync(path);
  onTestFinished(async () => await temporary.store.close());
  return temporary;
}
