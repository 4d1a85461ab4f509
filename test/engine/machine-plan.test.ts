/** Threads and caches by the cores and the memory of a machine, from the smallest container up. */
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import {
  attemptsMax,
  fitToMemory,
  isMemoryScarce,
  memoryBytesMin,
  memoryShares,
  shardBounds,
  threadCounts,
} from '../../src/engine/machine/machine-plan.ts';

const mebibyte = 2 ** 20;
const config = loadConfig(undefined, {});
const machine = (cores: number, megabytes: number) => ({
  cores,
  memoryBytes: megabytes * mebibyte,
});

describe('threads', () => {
  it.each([
    [1, 4_096, { redirect: 1, shards: 1, pool: 1, webhooks: 1 }],
    [16, 65_536, { redirect: 8, shards: 4, pool: 4, webhooks: 4 }],
    // A small container on a large machine: each thread takes memory that it does not have.
    [16, 256, { redirect: 1, shards: 1, pool: 1, webhooks: 1 }],
    [16, 1_024, { redirect: 4, shards: 2, pool: 2, webhooks: 2 }],
    [4, 64, { redirect: 1, shards: 1, pool: 1, webhooks: 1 }],
  ])('%i cores and %i MiB', (cores, megabytes, expected) => {
    expect(threadCounts(config, machine(cores, megabytes))).toEqual(expected);
  });
});

describe('caches', () => {
  it('are as configured from 1 GiB', () => {
    expect(fitToMemory(config, machine(2, 1_024))).toEqual(config);
    expect(isMemoryScarce(machine(2, 1_023))).toBe(true);
  });

  it('take together less than a quarter of the least memory', () => {
    const least = { cores: 2, memoryBytes: memoryBytesMin };
    const { images, scans } = fitToMemory(config, least);
    const { actorsMax, windowBytesMax } = shardBounds(least);
    const bytes = images.cacheBytesMax + scans.backlogBytesMax;
    expect(bytes + windowBytesMax).toBeLessThanOrEqual(memoryBytesMin / 4);
    expect([actorsMax, attemptsMax(least)]).toEqual([32_768, 1_024]);
  });

  it('and threads are as they are set, where that is less', () => {
    const own = loadConfig(undefined, {
      QZ_REDIRECT_THREADS: '3',
      QZ_SCANS_SHARDS: '2',
      QZ_IMAGES_CACHE_BYTES_MAX: '1000',
    });
    expect(threadCounts(own, machine(2, 256))).toMatchObject({ redirect: 3, shards: 2, pool: 1 });
    expect(fitToMemory(own, machine(2, 256)).images.cacheBytesMax).toBe(1_000);
  });
});

it('work of a moment is bounded where memory is scarce, so that together it fits', () => {
  const { hashesAtOnce, bulk } = memoryShares({ cores: 2, memoryBytes: memoryBytesMin })!;
  const bytes = hashesAtOnce * 32 * mebibyte + bulk.atOnceMax * bulk.bodyBytesMax * 11;
  expect(bytes).toBeLessThan(memoryBytesMin / 4);
  expect(memoryShares(machine(2, 1_024))).toBeUndefined();
});
