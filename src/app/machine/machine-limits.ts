/**
 * Compares the machine's limits with the needs of the configuration. If one is too low to run, the start is refused: a thread
 * or a store that meets a limit ends the process silently. If it is too low to run well, the start logs a warning.
 * Address space is reserved and hardly used: the link table 18 GiB, each WebAssembly module 10 GiB.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../platform/config/config.ts';
import { freeBytes } from '../../store/space-guard.ts';
import { type DescriptorShares, leastDescriptors, shareDescriptors } from './descriptors.ts';
import { bad, type DoctorFinding, good, warn } from './finding.ts';
import {
  attemptsMax,
  measureResources,
  memoryBytesMin,
  type ThreadCounts,
  threadCounts,
} from './machine-plan.ts';

export class MachineLimitError extends Error {
  override readonly name = 'MachineLimitError';
}

/** Infinity = no known limit. */
export interface Limits {
  readonly openFiles: number;
  /** Threads and processes left to the user and to the container. */
  readonly userThreads: number;
  readonly containerThreads: number;
  readonly addressSpaceBytes: number;
  readonly memoryBytes: number;
  readonly freeBytes: number;
}

const mebibyte = 2 ** 20;
const gibibyte = 2 ** 30;
/** About 3,000 concurrent connections on two cores. */
const openFilesAmple = 4_096;
/** Threads of Node: the main thread, libuv's four, V8's four, signals; the bundler of a first start; drawing on all cores. */
const ownThreadsLeast = 12;
const ownThreadsAmple = 64;
/** Above this limit, the user's other threads are not counted. */
const userThreadsFew = 4_096;
/** Measured with one thread of each kind: below 60 GiB webhooks fail, below 48 the start. */
const addressSpaceLeast = 48 * gibibyte;
const addressSpaceBase = 40 * gibibyte;
const addressSpacePerThread = 20 * gibibyte;
const freeBytesAmple = gibibyte;

export function examineLimits(config: Config, limits: Limits): DoctorFinding[] {
  const threads = threadCounts(config);
  const all = [
    openFiles(config, threads, limits.openFiles),
    ...threadFindings(threads, limits),
    memory(limits.memoryBytes),
    freeSpace(limits.freeBytes),
  ];
  return all.filter((finding) => finding !== undefined);
}

/** @returns warnings for the log @throws MachineLimitError naming all limits that are too low */
export function assertLimits(config: Config, limits: Limits): string[] {
  const findings = examineLimits(config, limits);
  const textsOf = (wanted: DoctorFinding['level']): string[] =>
    findings.filter(({ level }) => level === wanted).map(({ text }) => text);
  const refused = textsOf('bad');
  if (refused.length > 0) throw new MachineLimitError(`Cannot start: ${refused.join('; ')}`);
  return textsOf('warn');
}

/** Checks the minimum of any configuration, before the program loads. @returns why the service cannot start */
export function leastLimitsFault(limits = readLimits('.')): string | undefined {
  const least = { redirect: 1, shards: 1, pool: 1, webhooks: 1 };
  const refused = threadFindings(least, limits).find((finding) => finding?.level === 'bad');
  return refused && `Cannot start: ${refused.text}`;
}

const threadFindings = (threads: ThreadCounts, limits: Limits): (DoctorFinding | undefined)[] => [
  threadLimit(threads, limits.userThreads, 'this user (ulimit -u, LimitNPROC=)'),
  threadLimit(threads, limits.containerThreads, 'this container (--pids-limit, TasksMax=)'),
  addressSpace(threads, limits.addressSpaceBytes),
];

function openFiles(config: Config, threads: ThreadCounts, limit: number): DoctorFinding {
  const least = leastDescriptors(threads);
  const remedy =
    'raise it (LimitNOFILE= of the unit, --ulimit nofile= of the container, ulimit -n)';
  const text = `this process may open ${limit} files (nofile), expected`;
  if (limit < least) return bad(`${text} at least ${least}: ${remedy}`);
  const { redirectThread, api, attempts } = sharesOf(config, limit);
  const shares = `${redirectThread * threads.redirect} connections for short links, ${api} for the API, ${attempts} webhooks at a time`;
  if (limit < openFilesAmple) return warn(`${text} ${openFilesAmple}: only ${shares}; ${remedy}`);
  return good(`open files: ${shares}`);
}

function threadLimit(
  { redirect, shards, pool, webhooks }: ThreadCounts,
  limit: number,
  whose: string,
): DoctorFinding | undefined {
  if (limit === Infinity) return undefined;
  const own = redirect + shards + pool + webhooks;
  const [least, ample] = [own + ownThreadsLeast, own + ownThreadsAmple];
  const text = (expected: number): string =>
    `${limit} threads are left to ${whose}, expected at least ${expected}: raise the limit, or lower the thread settings`;
  if (limit < least) return bad(text(least));
  if (limit < ample) return warn(text(ample));
  return good(`${limit} threads are left to ${whose}`);
}

function addressSpace(
  { redirect, shards, pool, webhooks }: ThreadCounts,
  limit: number,
): DoctorFinding | undefined {
  if (limit === Infinity) return undefined;
  const threads = redirect + shards + pool + webhooks;
  const ample = addressSpaceBase + addressSpacePerThread * threads;
  if (limit >= ample) return good(`address space: ${inGibibytes(limit)}`);
  const text = (expected: number): string =>
    `${inGibibytes(limit)} of address space (ulimit -v, LimitAS=), expected unlimited or at least ${inGibibytes(expected)}: it is reserved, not used`;
  return limit < addressSpaceLeast ? bad(text(addressSpaceLeast)) : warn(text(ample));
}

function memory(bytes: number): DoctorFinding | undefined {
  if (bytes >= memoryBytesMin) return undefined;
  const [limit, least] = [bytes, memoryBytesMin].map((all) => Math.floor(all / mebibyte));
  return warn(`${limit} MiB of memory, expected at least ${least}`);
}

function freeSpace(bytes: number): DoctorFinding | undefined {
  if (bytes === Infinity) return undefined;
  const text = `${inGibibytes(bytes)} free in the data folder, expected at least 1`;
  return bytes < freeBytesAmple ? warn(text) : good(text);
}

const inGibibytes = (bytes: number): string => `${(bytes / gibibyte).toFixed(1)} GiB`;

export function sharesOf(config: Config, limit = ownLimits().openFiles): DescriptorShares {
  return shareDescriptors(limit, threadCounts(config), attemptsMax());
}

const ownLimits = () => parseLimits(textOf('/proc/self/limits'));

export function readLimits(dataDir: string): Limits {
  const groups = pidsFolders(textOf('/proc/self/cgroup'));
  const left = groups.map((folder) =>
    threadsLeft(textOf(join(folder, 'pids.max')), textOf(join(folder, 'pids.current'))),
  );
  const own = ownLimits();
  const others = own.userThreads < userThreadsFew ? othersThreads() : 0;
  return {
    ...own,
    userThreads: Math.max(0, own.userThreads - others),
    containerThreads: Math.min(Infinity, ...left),
    memoryBytes: measureResources().memoryBytes,
    freeBytes: freeBytesOf(dataDir),
  };
}

/** Threads of this user's other processes. Linux does not limit root. */
function othersThreads(): number {
  const pattern = new RegExp(`^Uid:\\s+${process.getuid?.()}\\s[^]*^Threads:\\s+(\\d+)`, 'm');
  const ids = process.getuid?.() === 0 ? [] : readdirSync('/proc').filter((name) => +name > 0);
  const others = ids.filter((id) => Number(id) !== process.pid);
  const counts = others.map((id) => Number(pattern.exec(textOf(`/proc/${id}/status`))?.[1] ?? 0));
  return counts.reduce((sum, count) => sum + count, 0);
}

function freeBytesOf(folder: string): number {
  try {
    return freeBytes(folder);
  } catch {
    return Infinity;
  }
}

/** Empty if the file does not exist: on other systems, and in a sandbox. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Linux's table of soft and hard limits. Node raises the soft limit of open files to the hard one. */
export function parseLimits(
  text: string,
): Pick<Limits, 'openFiles' | 'userThreads' | 'addressSpaceBytes'> {
  const soft = (name: string): number => {
    const value = new RegExp(`^${name} +(\\S+)`, 'm').exec(text)?.[1];
    return value === undefined || value === 'unlimited' ? Infinity : Number(value);
  };
  return {
    openFiles: soft('Max open files'),
    userThreads: soft('Max processes'),
    addressSpaceBytes: soft('Max address space'),
  };
}

/**
 * Folders in which the process's control group counts threads. In a container the path is often the host's; the group is
 * then the root that the container sees.
 */
export function pidsFolders(text: string): string[] {
  const root = '/sys/fs/cgroup';
  const path = /^0::(.*)$/m.exec(text)?.[1];
  return path === undefined ? [] : [...new Set([join(root, path), root])];
}

/** @returns how many more threads the group may have; Infinity = no limit */
export function threadsLeft(max: string, current: string): number {
  const [most, now] = [max, current].map((text) => text.trim());
  if (!/^\d+$/.test(most ?? '')) return Infinity;
  return Math.max(0, Number(most) - (Number(now) || 0));
}
