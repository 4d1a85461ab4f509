/**
 * Divides the process's descriptors, so that a crowd on one port takes none from journals, stores and other ports.
 *
 *   limit (nofile)
 *     reserved      threads, stores, journals, commands, a few of everything else: never for connections
 *     webhooks      a quarter of the rest, or as many as all attempts in flight need
 *     API           a quarter, two for each connection: its request may read a file
 *     short links   the rest, in equal parts for the redirect threads
 *
 * The shares add up to the limit: without a descriptor uWS would retry to accept forever, and a thread would end the process.
 */
import type { ThreadCounts } from './machine-plan.ts';

/** Measured at rest, with one thread of each kind: 60. The rest is for temporary files. */
const baseReserve = 96;
/** Measured: 5 for an event loop and its channels, 1 for a journal or a store. */
const perThread = 8;
const metricsConnections = 16;
/** A service needs at least these for connections and webhooks. */
const freeMin = 64;
/** Half of them are for short links. */
const freePerRedirectThread = 16;
/** Memory runs out before more are open. */
const limitMost = 1_048_576;
/** Idle connections of one thread to receivers: more are no faster. */
const idleReceiversMax = 1_000;

export interface DescriptorShares {
  /** Concurrent connections of each redirect thread. */
  readonly redirectThread: number;
  /** Concurrent connections of both ports of the API. */
  readonly api: number;
  readonly metrics: number;
  readonly attempts: number;
  /** Idle connections of each webhook thread to receivers. */
  readonly idleReceivers: number;
}

export function reservedDescriptors({ redirect, shards, pool, webhooks }: ThreadCounts): number {
  const threads = redirect + shards + pool + webhooks;
  // Every shard reads every journal.
  return baseReserve + perThread * threads + redirect * shards;
}

export function leastDescriptors(threads: ThreadCounts): number {
  const free = freeMin + freePerRedirectThread * threads.redirect;
  return reservedDescriptors(threads) + metricsConnections + free;
}

/** @param limit at least `leastDescriptors`; Infinity = none */
export function shareDescriptors(
  limit: number,
  threads: ThreadCounts,
  attemptsMax: number,
): DescriptorShares {
  const open = Math.min(limit, limitMost) - reservedDescriptors(threads) - metricsConnections;
  const free = Math.max(freeMin, open);
  const quarter = Math.floor(free / 4);
  const attempts = Math.min(attemptsMax, Math.ceil(quarter / 2));
  const idlePerThread = Math.floor((quarter - Math.ceil(quarter / 2)) / threads.webhooks);
  const idleReceivers = Math.min(idleReceiversMax, idlePerThread);
  const api = Math.floor(quarter / 2);
  const left = free - attempts - idleReceivers * threads.webhooks - 2 * api;
  return {
    redirectThread: Math.floor(left / threads.redirect),
    api,
    metrics: metricsConnections,
    attempts,
    idleReceivers,
  };
}
