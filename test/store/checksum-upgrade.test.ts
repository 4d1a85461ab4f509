import { join } from 'node:path';
import { open } from 'lmdb';
import { describe, expect, test } from 'vitest';
import { ChecksumUpgrade } from '../../src/store/checksum-upgrade.ts';
import { openManagement, type Management } from '../../src/store/management/management.ts';
import { openScanStore, putCheckpoints, readCheckpoints } from '../../src/store/scans/scans.ts';
import { countRecords, makeOlder } from './older-data.ts';
import { temporaryFolder } from './temporary-management.ts';

const records = 1_300;

async function older(): Promise<string> {
  const path = join(temporaryFolder(), 'management.mdb');
  const store = openManagement(path, 'create');
  await store.environment.transaction(() => {
    for (let no = 1; no <= records; no++) {
      store.links.put(no, Buffer.alloc(20, no & 15));
      store.codeIds.put(`qr_${no}`, no);
      store.tagSpellings.put([1, `tag ${no}`], `Tag ${no}`);
      store.idempotency.put([1, `key ${no}`], {
        fingerprint: 'f',
        expiresAtMs: no,
        status: 201,
        headers: {},
        body: '{}',
      });
    }
    store.next('code');
  });
  await store.close();
  expect(await makeOlder(path, 'management')).toBeGreaterThan(4 * records);
  return path;
}

function expectAll(store: Management): void {
  for (const no of [1, 7, records]) {
    expect([...store.links.get(no)!]).toEqual([...Buffer.alloc(20, no & 15)]);
    expect(store.codeIds.get(`qr_${no}`)).toBe(no);
    expect(store.tagSpellings.get([1, `tag ${no}`])).toBe(`Tag ${no}`);
    expect(store.idempotency.get([1, `key ${no}`])?.expiresAtMs).toBe(no);
  }
  expect(store.last('code')).toBe(1);
}

async function finish(store: Management): Promise<ChecksumUpgrade> {
  const upgrade = new ChecksumUpgrade(store.environment);
  for (let left = 1_000; !upgrade.isDone; left--) {
    expect(left).toBeGreaterThan(0);
    await upgrade.step();
  }
  return upgrade;
}

describe('data of a release without checksums', () => {
  test('is read, gets its checksums beside writers, and is strict from then on', async () => {
    const path = await older();
    const store = openManagement(path, 'create');
    expectAll(store);
    expect(store.environment.hasChecksums).toBe(false);
    const upgrade = new ChecksumUpgrade(store.environment);
    await upgrade.step();
    await store.environment.transaction(() => {
      store.links.put(2, Buffer.from('newer'));
      store.links.put(records + 1, Buffer.from('new'));
    });
    await finish(store);
    expectAll(store);
    expect(String(store.links.get(2))).toBe('newer');
    expect(store.environment.damage.places).toEqual([]);
    await store.close();
    // The version alone has none; a single byte is a set's or the version's.
    expect((await countRecords(path)).without).toBe(0);

    const strict = openManagement(path, 'create');
    expect(strict.environment.hasChecksums).toBe(true);
    expectAll(strict);
    await strict.close();
    await makeOlder(path, 'management');
    const raw = openManagement(path, 'create');
    raw.environment.requireChecksums();
    expect(() => raw.links.get(1)).toThrow(expect.objectContaining({ code: 'data_damaged' }));
    await raw.close();
  });

  test('goes on where a process ended midway, and after a step that failed', async () => {
    const path = await older();
    const first = openManagement(path, 'create');
    const begun = new ChecksumUpgrade(first.environment);
    for (let step = 0; step < 3; step++) await begun.step();
    await first.close();
    await expect(begun.step()).rejects.toThrow();
    const count = await countRecords(path);
    expect(count.with).toBeGreaterThan(500);
    expect(count.without).toBeGreaterThan(500);

    const second = openManagement(path, 'create');
    expectAll(second);
    expect((await finish(second)).records).toBeLessThan(4 * records);
    expectAll(second);
    await second.close();
    expect((await countRecords(path)).without).toBe(0);
  });

  test('tells an old value from a new one where both may begin with the mark', async () => {
    const path = join(temporaryFolder(), 'scans.mdb');
    const store = openScanStore(path, 'create');
    // Its first byte is the lowest of a sequence.
    const sequence = Buffer.from([0xc1, 0, 0, 0, 0, 0, 0xf0, 0x3f]).readDoubleLE();
    store.environment.transactionSync(() => putCheckpoints(store, [0, 63], sequence));
    await store.environment.close();
    await makeOlder(path, 'scans');
    const older = openScanStore(path, 'create');
    expect(readCheckpoints(older)[63]).toBe(sequence);
    await new ChecksumUpgrade(older.environment).step();
    await older.environment.close();
    const reopened = openScanStore(path, 'create');
    expect(readCheckpoints(reopened)[0]).toBe(sequence);
    await reopened.environment.close();
  });

  test('a damaged version is refused with the name of the file', async () => {
    const path = join(temporaryFolder(), 'management.mdb');
    await openManagement(path, 'create').close();
    const root = open({ path, noSubdir: true, maxDbs: 64 });
    root
      .openDB<Uint8Array, string>({ name: 'meta', encoding: 'binary' })
      .putSync('schema', Buffer.from([0x83]));
    await root.close();
    expect(() => openManagement(path)).toThrow(`Cannot open ${path}: meta has a damaged record`);
  });

  test('a damaged record stays as it is, is noted, and holds nothing up', async () => {
    const path = join(temporaryFolder(), 'management.mdb');
    const store = openManagement(path, 'create');
    await store.environment.transaction(() => store.codeIds.put('qr_1', 7));
    await store.close();
    await makeOlder(path, 'management');
    const root = open({ path, noSubdir: true, maxDbs: 64 });
    const ids = root.openDB<Uint8Array, string>({ name: 'code_ids', encoding: 'binary' });
    ids.putSync('qr_1', Buffer.from([0xc1, 7, 7, 7, 7, 7]));
    await root.close();
    const reopened = openManagement(path, 'create');
    await finish(reopened);
    expect(reopened.environment.damage.places).toMatchObject([{ table: 'code_ids' }]);
    expect(() => reopened.codeIds.get('qr_1')).toThrow();
    await reopened.close();
  });
});
