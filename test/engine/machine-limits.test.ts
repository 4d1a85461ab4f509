/** What the machine allows, read from what Linux says, against what the service needs. */
import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import {
  leastDescriptors,
  reservedDescriptors,
  shareDescriptors,
} from '../../src/engine/machine/descriptors.ts';
import {
  assertLimits,
  examineLimits,
  type Limits,
  MachineLimitError,
  parseLimits,
  pidsFolders,
  threadsLeft,
} from '../../src/engine/machine/machine-limits.ts';

const gibibyte = 2 ** 30;
const ample: Limits = {
  openFiles: 524_288,
  userThreads: Infinity,
  containerThreads: Infinity,
  addressSpaceBytes: Infinity,
  memoryBytes: 4 * gibibyte,
  freeBytes: 100 * gibibyte,
};
const config = loadConfig(undefined, {
  QZ_REDIRECT_THREADS: '1',
  QZ_SCANS_SHARDS: '1',
  QZ_IMAGES_THREADS: '1',
  QZ_WEBHOOKS_THREADS: '1',
});
const threads = { redirect: 1, shards: 1, pool: 1, webhooks: 1 };

test('the table of /proc/self/limits is read by its names, with and without limits', () => {
  const text = `Limit                     Soft Limit           Hard Limit           Units
Max stack size            8388608              unlimited            bytes
Max processes             96365                96365                processes
Max open files            1024                 524288               files
Max address space         unlimited            unlimited            bytes
`;
  expect(parseLimits(text)).toEqual({
    openFiles: 1_024,
    userThreads: 96_365,
    addressSpaceBytes: Infinity,
  });
  const unknown = { openFiles: Infinity, userThreads: Infinity, addressSpaceBytes: Infinity };
  expect(parseLimits('')).toEqual(unknown);
});

test('the control group that counts threads is found, and what it leaves', () => {
  expect(pidsFolders('1:name=systemd:/\n0::/system.slice/a:b\n')).toEqual([
    '/sys/fs/cgroup/system.slice/a:b',
    '/sys/fs/cgroup',
  ]);
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
        for (const name of ['redirectThread', 'api', 'attempts'] as const) {
          expect([limit, name, shares[name] > 0]).toEqual([limit, name, true]);
        }
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
  expect(low.map(({ level, text: said }) => `${level}: ${said}`)).toEqual([
    expect.stringMatching(text),
  ]);
});

test('what is too little to run well is a warning each, too little to run at all refuses the start', () => {
  expect(assertLimits(config, { ...ample, openFiles: 1_024, userThreads: 30 })).toHaveLength(2);
  expect(assertLimits(config, ample)).toEqual([]);
  const limits = { ...ample, openFiles: 100, containerThreads: 8, addressSpaceBytes: gibibyte };
  const start = (): string[] => assertLimits(config, limits);
  expect(start).toThrow(MachineLimitError);
  expect(start).toThrow(/^Cannot start: .*100 files .*; 8 threads .*; 1.0 GiB of address space/);
});
