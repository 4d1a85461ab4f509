/**
 * Whether a cluster has data, which a new core must copy: its log CORE has a write, or had one that was removed since, or
 * begins with the data of a folder (log-beginning.ts), which shows by its first epoch.
 *
 * Leads and beats alone are left by cores whose first start was cut short. A leader writes only when it has stored its lead:
 * so wherever the log has a write, there is a folder that has applied something.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Timers } from '../../model/clock.ts';
import { messageOf } from '../../model/failure.ts';
import type { Logger } from '../../telemetry/log.ts';
import { sparseWarning } from '../../telemetry/sparse-warning.ts';
import { readEntry } from '../log/entry.ts';
import type { LogBounds, OrderedLog } from '../log/ordered-log.ts';
import { logStream } from '../nats/log-streams.ts';
import type { NatsConnection } from '../nats/nats-connection.ts';
import { NatsLog } from '../nats/nats-log.ts';
import { ensureStream, findBounds } from '../nats/nats-stream.ts';
import { scanStream } from '../scans/scan-channels.ts';

const core = logStream('core');
const againMs = 500;

export interface ClusterDataOptions {
  readonly connection: NatsConnection;
  readonly replicas: number;
  readonly timers: Pick<Timers, 'monotonicMs'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Waits for brokers as long as it takes. @throws the signal's reason */
export async function clusterHasData(options: ClusterDataOptions): Promise<boolean> {
  const { connection, replicas } = options;
  const messages = new NatsLog({ connection, ...core });
  try {
    return await answered(options, async () => {
      await ensureStream(connection, { ...core, replicas });
      return await hasWrites(messages, await messages.bounds());
    });
  } finally {
    await messages.close();
  }
}

/**
 * Whether the logs of scans or of deliveries have lost their first entries, which a leader removes: a core that reads them
 * from the beginning lacks those. Waits for brokers as long as it takes. @throws the signal's reason
 */
export async function lacksBeginnings(options: ClusterDataOptions): Promise<boolean> {
  return await answered(options, async () => {
    for (const name of [scanStream, logStream('delivery').stream]) {
      const bounds = await findBounds(options.connection, name);
      if (bounds !== undefined && bounds.first > 1) return true;
    }
    return false;
  });
}

async function answered<T>(
  { connection, timers, log, signal }: ClusterDataOptions,
  ask: () => Promise<T>,
): Promise<T> {
  const warn = sparseWarning(log, timers, 'waiting for the brokers of the cluster');
  for (;;) {
    signal.throwIfAborted();
    try {
      return await ask();
    } catch (error) {
      warn({ reason: connection.problem ?? messageOf(error) });
    }
    await pause(againMs, undefined, { signal }).catch(() => undefined);
  }
}

async function hasWrites(
  log: Pick<OrderedLog, 'follow'>,
  { first, last }: LogBounds,
): Promise<boolean> {
  if (last === 0) return false;
  if (first > 1) return true;
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const reading = log.follow(1, {
    entry: (seq, body) => {
      if (showsData(seq, body)) resolve(true);
      else if (seq >= last) resolve(false);
    },
    ended: reject,
  });
  try {
    return await promise;
  } finally {
    reading.stop();
  }
}

/** An entry that only a newer program can read may be a write. */
function showsData(seq: number, body: Uint8Array): boolean {
  const entry = readEntry(body);
  if (entry === undefined) return false;
  const { head, content } = entry;
  return content === undefined || content.kind === 'tx' || (seq === 1 && head.epoch > 1);
}
