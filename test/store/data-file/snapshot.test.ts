/** The pages of a snapshot that is held stay as they are beside a writer that commits all the time. */
import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { readMeta } from '../../../src/store/data-file/format.ts';
import { walkSnapshot } from '../../../src/store/data-file/walk.ts';
import { temporaryFolder } from '../temporary-management.ts';
import { makeStore } from './store-file.ts';

const walks = 10;
/** A page that one transaction has freed is used again two later. */
const commitsMeanwhile = 4;

it('walks beside a writer without a false alarm', async () => {
  const path = join(temporaryFolder(), 'data.mdb');
  await makeStore(path, 3);
  const commits = new Int32Array(new SharedArrayBuffer(4));
  const writer = new Worker(new URL('./writer.worker.ts', import.meta.url), {
    workerData: { path, commits },
  });
  await once(writer, 'message');
  /** Holds up the walk, as a large file would, until the writer has committed a few times more. */
  const waitForCommits = (): void => {
    const until = Atomics.load(commits, 0) + commitsMeanwhile;
    for (let seen = Atomics.load(commits, 0); seen < until; seen = Atomics.load(commits, 0)) {
      Atomics.wait(commits, 0, seen);
    }
  };
  try {
    for (let walk = 0; walk < walks; walk++) {
      const before = readMeta(path)?.transaction ?? 0;
      const found = walkSnapshot(path, { onProgress: waitForCommits });
      expect(found.fault).toBeUndefined();
      expect(found.entries).toBeGreaterThan(20);
      expect(readMeta(path)?.transaction).toBeGreaterThan(before + 2);
    }
  } finally {
    const ended = once(writer, 'exit');
    writer.postMessage('stop');
    await ended;
  }
});
