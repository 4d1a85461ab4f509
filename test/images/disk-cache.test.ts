/** A cache on a real disk: damage, a full disk or a missing file costs a drawing and nothing else. */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DiskCache } from '../../src/images/disk-cache.ts';
import { temporaryFolder } from '../store/temporary-management.ts';
import { TestClock } from '../support/fakes/test-clock.ts';
import { soon } from '../support/soon.ts';

const clock = new TestClock();
const image = (bytes: number): Uint8Array => Uint8Array.from(randomBytes(bytes));
const flipped = (bytes: Buffer, at: number): Buffer => bytes.fill((bytes[at] ?? 0) ^ 1, at, at + 1);

async function filesOf(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

describe('DiskCache', () => {
  test('finds what was put, after a restart too', async () => {
    const folder = temporaryFolder();
    const cache = new DiskCache(folder, 1_000_000, clock);
    const [one, other] = [image(5_000), image(300)];
    await cache.put('one', one);
    await cache.put('other', other);
    expect(await cache.find('one')).toEqual(one);
    expect(await cache.find('none')).toBeUndefined();
    expect(cache.stats()).toMatchObject({ bytes: 12_288, count: 2, hits: 1, faults: 0 });
    const next = new DiskCache(folder, 1_000_000, clock);
    expect(await next.find('other')).toEqual(other);
    await next.settled();
    expect(next.stats()).toMatchObject({ bytes: 12_288, count: 2 });
  });

  test.each<[string, (file: string) => Promise<void>]>([
    ['flipped', async (file) => await writeFile(file, flipped(await readFile(file), 40))],
    ['torn', async (file) => await writeFile(file, (await readFile(file)).subarray(0, 100))],
    ['empty', async (file) => await writeFile(file, '')],
    ['another image', async (file) => await writeFile(file, randomBytes(200))],
  ])('a file that is %s counts as missing and is deleted', async (_what, damage) => {
    const folder = temporaryFolder();
    const cache = new DiskCache(folder, 1_000_000, clock);
    await cache.put('key', image(500));
    const [file = ''] = await filesOf(folder);
    await damage(file);
    expect(await cache.find('key')).toBeUndefined();
    expect(existsSync(file)).toBe(false);
    expect(cache.stats()).toMatchObject({ count: 0, bytes: 0, faults: 1 });
  });

  test('stays within its bound; the least recently used are pruned first', async () => {
    const folder = temporaryFolder();
    const cache = new DiskCache(folder, 40 * 4_096, clock);
    for (let at = 0; at < 60; at += 1) {
      await cache.put(`image ${at}`, image(2_000));
      await cache.find('image 0');
      await cache.settled();
      expect(cache.stats().bytes).toBeLessThanOrEqual(40 * 4_096);
    }
    expect(await cache.find('image 0')).toBeDefined();
    expect(await cache.find('image 1')).toBeUndefined();
    expect(await cache.find('image 59')).toBeDefined();
    expect((await filesOf(folder)).length).toBe(cache.stats().count);
  });

  test('a smaller bound at the next start prunes the oldest files', async () => {
    const folder = temporaryFolder();
    const cache = new DiskCache(folder, 1_000_000, clock);
    for (let at = 0; at < 50; at += 1) await cache.put(`image ${at}`, image(2_000));
    const used = 1_700_000_000;
    for (const [at, file] of (await filesOf(folder)).entries())
      await utimes(file, used + at, used + at);
    const files = await filesOf(folder);
    await writeFile(join(folder, 'left.new'), 'half');
    const next = new DiskCache(folder, 20 * 4_096, clock);
    await next.settled();
    await expect.poll(() => next.stats().bytes, soon).toBeLessThanOrEqual(18 * 4_096);
    await next.settled();
    const left = await filesOf(folder);
    expect(left).toHaveLength(18);
    expect(left).not.toContain(files[0]);
  });

  test('an image above a tenth of the bound is not stored; with 0 none is', async () => {
    const folder = temporaryFolder();
    const cache = new DiskCache(folder, 100_000, clock);
    await cache.put('large', image(20_000));
    expect(cache.stats().count).toBe(0);
    const none = new DiskCache(folder, 0, clock);
    await none.put('small', image(10));
    expect(await filesOf(folder)).toEqual([]);
  });

  test('a failed write pauses writing for half a minute, and is never thrown', async () => {
    const hand = new TestClock();
    const folder = temporaryFolder();
    const cache = new DiskCache(join(folder, 'cache'), 1_000_000, hand);
    // In place of the folder: even root cannot write below a file.
    await writeFile(join(folder, 'cache'), 'a file');
    await cache.put('one', image(100));
    await cache.put('two', image(100));
    expect(cache.stats()).toMatchObject({ count: 0, faults: 1 });
    expect(await cache.find('one')).toBeUndefined();
    await rm(join(folder, 'cache'));
    await cache.put('two', image(100));
    expect(cache.stats().count).toBe(0);
    hand.move(30_001);
    await cache.put('two', image(100));
    expect(cache.stats().count).toBe(1);
  });
});
