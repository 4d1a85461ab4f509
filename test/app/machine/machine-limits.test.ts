/** What the machine allows, read from what Linux says, against what the service needs. */
import { expect, it, test } from 'vitest';
import { loadConfig } from '../../../src/platform/config/config.ts';
import { leanEnvironment } from '../../../src/app/machine/allocator.ts';
import {
  leastDescriptors,
  reservedDescriptors,
  shareDescriptors,
} from '../../../src/app/machine/descriptors.ts';
import {
  assertLimits,
  examineLimits,
  type Limits,
  MachineLimitError,
  parseLimits,
  pidsFolders,
  threadsLeft,
} from '../../../src/app/machine/machine-limits.ts';
import {
  attemptsMax,
  fitToMemory,
  isMemoryScarce,
  memoryBytesMin,
  memoryShares,
  shardBounds,
  threadCounts,
} from '../../../src/app/machine/machine-plan.ts';
import { fewThreads } from '../../support/process.ts';

const gibibyte = 2 ** 30;
const ample: Limits = {
  openFiles: 524_288,
  userThreads: Infinity,
  containerThreads: Infinity,
  addressSpaceBytes: Infinity,
  memoryBytes: 4 * gibibyte,
  freeBytes: 100 * gibibyte,
};
const config = loadConfig(undefined, fewThreads);
const threads = { redirect: 1, shards: 1, pool: 1, webhooks: 1 };

test('the table of /proc/self/limits is read by its names, with and without limits', () => {
  const text = `Limit                     Soft Limit           Hard Limit           Units
Max stack size            8388608              unlimited            bytes
Max processes             96365                96365                processes
Max open files            1024                 524288               files
Max address space         unlimited            unlimited            bytes
`;
  const unlimited = { openFiles: Infinity, userThreads: Infinity, addressSpaceBytes: Infinity };
  expect(parseLimits('')).toEqual(unlimited);
  expect(parseLimits(text)).toEqual({ ...unlimited, openFiles: 1_024, userThreads: 96_365 });
});

test('the control group that counts threads is found, and what it leaves', () => {
  const groups = '1:name=systemd:/\n0::/system.slice/a:b\n';
  const folders = ['/sys/fs/cgroup/system.slice/a:b', '/sys/fs/cgroup'];
  expect(pidsFolders(groups)).toEqual(folders);
  expect(pidsFolders('')).toEqual([]);
  expect([threadsLeft('100\n', '40\n'), threadsLeft('10', '40'), threadsLeft('100', '')]).toEqual([
    60, 0, 100,
  ]);
  expect([threadsLeft('max\n', '40\n'), threadsLeft('', '')]).toEqual([Infinity, Infinity]);
});

test('shares never add up to more than the limit, and each has some', () => {
  for (const redirect of [1, 4, 64]) {
    for (const webhooks of [1, 16]) {
      const counts = { redirect, shards: 2, pool: 2, webhooks };
      const least = leastDescriptors(counts);
      for (const limit of [least, 1_024, 4_096, 65_536, Infinity].filter((n) => n >= least)) {
        const shares = shareDescriptors(limit, counts, 4_096);
        const sum =
          reservedDescriptors(counts) +
          shares.redirectThread * redirect +
          2 * shares.api +
          shares.metrics +
          shares.attempts +
          shares.idleReceivers * webhooks;
        expect(sum).toBeLessThanOrEqual(limit);
        expect(shares.attempts).toBeLessThanOrEqual(4_096);
        const { redirectThread, api, attempts } = shares;
        expect(Math.min(redirectThread, api, attempts)).toBeGreaterThan(0);
      }
    }
  }
  expect(shareDescriptors(1_024, threads, 4_096).redirectThread).toBeGreaterThan(400);
});

test.each([
  [
    { openFiles: 1_024 },
    /^warn: .* open 1024 files \(nofile\), expected 4096: only .*LimitNOFILE=/,
  ],
  [{ userThreads: 30 }, /^warn: 30 threads are left to this user .*expected at least 68/],
  [{ containerThreads: 30 }, /^warn: 30 threads are left to this container \(--pids-limit/],
  [
    { addressSpaceBytes: 64 * gibibyte },
    /^warn: 64.0 GiB of address space \(ulimit -v.* at least 120.0 GiB/,
  ],
  [{ memoryBytes: 128 * 2 ** 20 }, /^warn: 128 MiB of memory, expected at least 256$/],
  [{ freeBytes: gibibyte / 2 }, /^warn: 0.5 GiB free in the data folder, expected at least 1$/],
])('too little to run well is told with what is needed, and how to get it: %j', (limits, text) => {
  const findings = examineLimits(config, { ...ample, ...limits });
  const low = findings.filter(({ level }) => level !== 'ok');
  const said = low.map((finding) => `${finding.level}: ${finding.text}`);
  expect(said).toEqual([expect.stringMatching(text)]);
});

test('what is too little to run well is a warning each, too little to run at all refuses the start', () => {
  expect(assertLimits(config, { ...ample, openFiles: 1_024, userThreads: 30 })).toHaveLength(2);
  expect(assertLimits(config, ample)).toEqual([]);
  const limits = { ...ample, openFiles: 100, containerThreads: 8, addressSpaceBytes: gibibyte };
  const start = (): string[] => assertLimits(config, limits);
  expect(start).toThrow(MachineLimitError);
  expect(start).toThrow(/^Cannot start: .*100 files .*; 8 threads .*; 1.0 GiB of address space/);
});

/** Threads and caches by the cores and the memory of a machine, from the smallest container up. */

const mebibyte = 2 ** 20;
const standard = loadConfig(undefined, {});
const machine = (cores: number, megabytes: number) => ({
  cores,
  memoryBytes: megabytes * mebibyte,
});
const least = machine(2, memoryBytesMin / mebibyte);

it.each([
  [1, 4_096, { redirect: 1, shards: 1, pool: 1, webhooks: 1 }],
  [16, 65_536, { redirect: 8, shards: 4, pool: 4, webhooks: 4 }],
  // A small container on a large machine: each thread takes memory that it does not have.
  [16, 256, { redirect: 1, shards: 1, pool: 1, webhooks: 1 }],
  [16, 1_024, { redirect: 4, shards: 2, pool: 2, webhooks: 2 }],
  [4, 64, { redirect: 1, shards: 1, pool: 1, webhooks: 1 }],
])('threads of %i cores and %i MiB', (cores, megabytes, expected) => {
  expect(threadCounts(standard, machine(cores, megabytes))).toEqual(expected);
});

it('caches are as configured from 1 GiB', () => {
  expect(fitToMemory(standard, machine(2, 1_024))).toEqual(standard);
  expect(isMemoryScarce(machine(2, 1_023))).toBe(true);
});

it('caches take together less than a quarter of the least memory', () => {
  const { images, scans } = fitToMemory(standard, least);
  const { actorsMax, windowBytesMax } = shardBounds(least);
  const bytes = images.cacheBytesMax + scans.backlogBytesMax;
  expect(bytes + windowBytesMax).toBeLessThanOrEqual(memoryBytesMin / 4);
  expect([actorsMax, attemptsMax(least)]).toEqual([32_768, 1_024]);
});

it('threads and caches are as they are set, where that is less', () => {
  const own = loadConfig(undefined, {
    QZ_REDIRECT_THREADS: '3',
    QZ_SCANS_SHARDS: '2',
    QZ_IMAGES_CACHE_BYTES_MAX: '1000',
  });
  expect(threadCounts(own, machine(2, 256))).toMatchObject({ redirect: 3, shards: 2, pool: 1 });
  expect(fitToMemory(own, machine(2, 256)).images.cacheBytesMax).toBe(1_000);
});

it('work of a moment is bounded where memory is scarce, so that together it fits', () => {
  const { hashesAtOnce, bulk } = memoryShares(least)!;
  const bytes = hashesAtOnce * 32 * mebibyte + bulk.atOnceMax * bulk.bodyBytesMax * 11;
  expect(bytes).toBeLessThan(memoryBytesMin / 4);
  expect(memoryShares(machine(2, 1_024))).toBeUndefined();
});

it('the allocator gets the settings that are missing, once, and keeps those of an operator', () => {
  const twoCores = machine(2, 1_024);
  const lean = leanEnvironment({ QZ_DATA_DIR: '/data' }, twoCores);
  expect(lean).toEqual({ QZ_DATA_DIR: '/data', MALLOC_MMAP_THRESHOLD_: '131072' });
  expect(leanEnvironment(lean ?? {}, twoCores)).toBeUndefined();
  const own = { MALLOC_MMAP_THRESHOLD_: '65536' };
  expect(leanEnvironment(own, twoCores)).toBeUndefined();
  // In little memory threads share arenas.
  const scarce = leanEnvironment(own, least);
  expect(scarce).toEqual({ ...own, MALLOC_ARENA_MAX: '2' });
  expect(leanEnvironment(scarce ?? {}, least)).toBeUndefined();
});
