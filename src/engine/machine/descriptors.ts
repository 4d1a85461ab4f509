/**
 * Who may have how many of the process's descriptors open, so that a crowd on one port takes none from the journals,
 * the stores, and the other ports.
 *
 *   limit (nofile)
 *     reserved      threads, stores, journals, commands, a few of everything else: never given to connections
 *     webhooks      a quarter of the rest, or what `webhooks.inFlightMax` needs
 *     API           a quarter, two for each connection: its request may read a file
 *     short links   what is left, in equal parts for the redirect threads
 *
 * The shares add up to the limit, so accepting never fails for want of one: uWS would then try it again without end,
 * and a start or a thread that finds none ends the process.
 */
import type { ThreadCounts } from './machine-plan.ts';

/** Measured at rest with one thread of each kind: 60, with all threads. The rest is for what comes and goes. */
const baseReserve = 96;
/** Measured: 5 for an event loop and its channels, 1 for a journal or a store. */
const perThread = 8;
/** Connections of a scraper on a port of its own. */
const metricsConnections = 16;
/** Fewer for connections and webhooks together, and no service starts. */
const freeMin = 64;
/** Half of them are for short links. */
const freePerRedirectThread = 16;
/** As good as none: beyond it memory ends first. */
const limitMost = 1_048_576;
/** Idle connections to receivers, of one thread: more are no faster. */
const idleReceiversMax = 1_000;

export interface DescriptorShares {
  /** Connections open at the same time: of each redirect thread, and of each port of the API. */
  readonly redirectThread: number;
  readonly api: number;
  readonly metrics: number;
  /** Attempts in flight at the same time. */
  readonly attempts: number;
  /** Connections to receivers of each webhook thread, beside those of attempts. */
  readonly idleReceivers: number;
}

/** Descriptors that the service has open without a single connection. */
export function reservedDescriptors({ redirect, shards, pool, webhooks }: ThreadCounts): number {
  const threads = redirect + shards + pool + webhooks;
  // Every shard reads every journal.
  return baseReserve + perThread * threads + redirect * shards;
}

/** The fewest that a service starts with. */
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
