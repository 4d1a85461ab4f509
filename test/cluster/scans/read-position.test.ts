import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ReadPositions } from '../../../src/cluster/scans/received-positions.ts';
import { encodeRewind, readRewind } from '../../../src/cluster/scans/scan-messages.ts';
import { packPlain } from '../../../src/store/codec.ts';
import { openScanStore, type ScanStore } from '../../../src/store/scans/scans.ts';
import { StoredBytes } from '../../support/stored-bytes.ts';

let folder: string;
let store: ScanStore;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quietzone-positions-'));
  store = openScanStore(join(folder, 'scans.mdb'), 'create');
});
afterEach(async () => {
  await store.environment.close();
  rmSync(folder, { recursive: true });
});

it('how far a core has read is there for its next process, by journal', async () => {
  const positions = new ReadPositions(store.environment);
  expect(positions.read()).toEqual({ seq: 0, tails: new Map() });
  const saved = {
    seq: 7,
    tails: new Map([
      [3, 1_000],
      [65_535, Number.MAX_SAFE_INTEGER],
    ] as const),
  };
  await positions.save({ seq: 6, tails: new Map() });
  await positions.save(saved);
  await store.environment.close();
  store = openScanStore(join(folder, 'scans.mdb'));
  const later = new ReadPositions(store.environment);
  expect(later.read()).toEqual(saved);
  expect([3, 65_535, 4].map((journal) => later.wholeTo(journal))).toEqual([
    1_000,
    Number.MAX_SAFE_INTEGER,
    0,
  ]);
});

it('damaged, the log is read from its beginning and no journal is cut', async () => {
  await new ReadPositions(store.environment).save({ seq: 6, tails: new Map([[3, 1_000]]) });
  const stored = new StoredBytes(store.environment.path);
  for (const key of stored.keys('cluster')) stored.flip('cluster', key, 42);
  await stored.close();
  store.environment.refresh();
  const positions = new ReadPositions(store.environment);
  expect(positions.read()).toEqual({ seq: 0, tails: new Map() });
  expect(positions.wholeTo(3)).toBe(Infinity);
});

it('a request to go back is what it was, or none', () => {
  const request = { journal: 65_535, position: Number.MAX_SAFE_INTEGER };
  expect(readRewind(encodeRewind(request))).toEqual(request);
  for (const wrong of [[2, 1, 1], [1, -1, 1], [1, 1, 0.5], [1, 1], 'rewind']) {
    expect(readRewind(packPlain(wrong))).toBeUndefined();
  }
  expect(readRewind(Buffer.from('no message'))).toBeUndefined();
});
