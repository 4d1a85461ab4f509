/**
 * What the machine or the container allows: threads by its cores, memory by its limit. The one place with such figures;
 * `npm run bench -- --only memory` measures them.
 *
 *     below 1 GiB   caches are bounded by a share of the limit
 *     any limit     a core counts only where 128 MB come with it
 *
 * V8 sizes the heap of every thread by the same limit by itself.
 */
import { availableParallelism, totalmem } from 'node:os';
import type { Config } from '../../config.ts';
import { machineJournalsMax } from '../../scans/journal/positions.ts';

const mebibyte = 2 ** 20;
/** The least that the service is measured with: 500 scans/s, a webhook endpoint, dashboard and images in use. */
export const memoryBytesMin = 256 * mebibyte;
/** The table of places, the caches at their bounds and the threads of eight cores fit into this. */
const ampleBytes = 1_024 * mebibyte;
/** A thread takes about 25 MB when it works; of the four kinds at least one runs. */
const bytesPerCore = 128 * mebibyte;
/** An actor with a few hundred visitors in its day takes some KB. */
const bytesPerActor = 8_192;

export interface Resources {
  readonly cores: number;
  /** Bytes that this process may use. */
  readonly memoryBytes: number;
}

/** The machine, or the container that this process runs in. */
export function measureResources(): Resources {
  // 0, or more than any machine has, where no limit is set.
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

/** Thread counts with 0 resolved by cores and memory: 2 cores = 1 of each. */
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

/** Bounds of work that takes memory for a moment, where it is scarce. */
export interface MemoryShares {
  /** Password hashes under way, 32 MB each. */
  readonly hashesAtOnce: number;
  /** A bulk request takes 11 times its body. */
  readonly bulk: { readonly bodyBytesMax: number; readonly atOnceMax: number };
  /** Threads that draw end after this long without a task. */
  readonly drawingRestMs: number;
}

/** @returns undefined where memory is not scarce: each module has bounds of its own */
export function memoryShares(resources: Resources = measureResources()): MemoryShares | undefined {
  if (!isMemoryScarce(resources)) return undefined;
  return {
    hashesAtOnce: 1,
    bulk: { bodyBytesMax: Math.floor(resources.memoryBytes / 128), atOnceMax: 1 },
    drawingRestMs: 5_000,
  };
}

/** The configuration with what takes memory bounded by its share, where memory is scarce. */
export function fitToMemory(config: Config, resources: Resources = measureResources()): Config {
  if (!isMemoryScarce(resources)) return config;
  const share = (parts: number): number => Math.floor(resources.memoryBytes / parts);
  const { codes, images, scans, webhooks } = config;
  return {
    ...config,
    codes: { ...codes, searchBytesMax: Math.min(codes.searchBytesMax, share(16)) },
    webhooks: {
      ...webhooks,
      inFlightMax: Math.min(webhooks.inFlightMax, share(bytesPerActor * 32)),
    },
    images: { ...images, cacheBytesMax: Math.min(images.cacheBytesMax, share(32)) },
    scans: {
      ...scans,
      actorsMax: Math.min(scans.actorsMax, share(bytesPerActor)),
      backlogBytesMax: Math.min(scans.backlogBytesMax, share(16)),
      windowBytesMax: Math.min(scans.windowBytesMax, share(128)),
    },
  };
}
