/**
 * Plans threads by the machine's or container's cores, and memory by its limit. This file has all such figures; `npm
 * run bench -- --only memory` measures them.
 *
 *     below 1 GiB   each cache is bounded by a share of the limit
 *     any limit     a core counts only if it comes with 128 MB
 *
 * V8 sizes the heap of every thread by the same limit.
 */
import { availableParallelism, totalmem } from 'node:os';
import type { Config } from '../../platform/config/config.ts';
import { machineJournalsMax } from '../../engine/journal/positions.ts';

const mebibyte = 2 ** 20;
/** Measured: 500 scans/s, a webhook endpoint, dashboard and images in use. */
export const memoryBytesMin = 256 * mebibyte;
/** Enough for the geo table, the caches at their bounds and the threads of eight cores. */
const ampleBytes = 1_024 * mebibyte;
/** A working thread takes about 25 MB, and at least one of each of the four kinds runs. */
const bytesPerCore = 128 * mebibyte;
/** An actor with a few hundred visitors a day takes some KB. */
const bytesPerActor = 8_192;

export interface Resources {
  readonly cores: number;
  readonly memoryBytes: number;
}

/** Of the machine, or of this process's container. */
export function measureResources(): Resources {
  // Without a limit: 0, or more than any machine has.
  const limit = process.constrainedMemory() || Infinity;
  return { cores: availableParallelism(), memoryBytes: Math.min(limit, totalmem()) };
}

export const isMemoryScarce = ({ memoryBytes }: Resources): boolean => memoryBytes < ampleBytes;

export interface ThreadCounts {
  readonly redirect: number;
  readonly shards: number;
  readonly pool: number;
  readonly webhooks: number;
}

/** Resolves a count of 0 by cores and memory: 2 cores = 1 of each. */
export function threadCounts(
  config: Config,
  resources: Resources = measureResources(),
): ThreadCounts {
  const cores = Math.min(resources.cores, Math.floor(resources.memoryBytes / bytesPerCore));
  const quarter = Math.max(1, Math.floor(cores / 4));
  return {
    redirect:
      config.redirect.threads || Math.min(machineJournalsMax, Math.max(1, Math.floor(cores / 2))),
    shards: config.scans.shards || quarter,
    pool: config.images.threads || quarter,
    webhooks: config.webhooks.threads || quarter,
  };
}

export interface MemoryShares {
  /** Concurrent password hashes, 32 MB each. */
  readonly hashesAtOnce: number;
  /** A bulk request takes 11 times its body. */
  readonly bulk: { readonly bodyBytesMax: number; readonly atOnceMax: number };
  readonly drawingRestMs: number;
}

/** @returns undefined if memory is not scarce: the modules have their own bounds */
export function memoryShares(resources: Resources = measureResources()): MemoryShares | undefined {
  if (!isMemoryScarce(resources)) return undefined;
  return {
    hashesAtOnce: 1,
    bulk: { bodyBytesMax: Math.floor(resources.memoryBytes / 128), atOnceMax: 1 },
    drawingRestMs: 5_000,
  };
}

const share = (resources: Resources, parts: number): number =>
  isMemoryScarce(resources) ? Math.floor(resources.memoryBytes / parts) : Infinity;

/** Bounds of a shard: codes whose counters it keeps in memory, and journal bytes that one window reads. */
export function shardBounds(resources: Resources = measureResources()) {
  return {
    actorsMax: Math.min(200_000, share(resources, bytesPerActor)),
    windowBytesMax: Math.min(8_388_608, share(resources, 128)),
  };
}

/** Webhooks in flight, all endpoints together: memory and sockets. */
export const attemptsMax = (resources: Resources = measureResources()): number =>
  Math.min(4_096, share(resources, bytesPerActor * 32));

/** The configuration; if memory is scarce, with bounded caches. */
export function fitToMemory(config: Config, resources: Resources = measureResources()): Config {
  const { images, scans } = config;
  const bounded = (bytes: number, parts: number): number =>
    Math.min(bytes, share(resources, parts));
  return {
    ...config,
    images: { ...images, cacheBytesMax: bounded(images.cacheBytesMax, 32) },
    scans: { ...scans, backlogBytesMax: bounded(scans.backlogBytesMax, 16) },
  };
}
