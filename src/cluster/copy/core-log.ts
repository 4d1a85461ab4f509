/**
 * Whether a cluster has data: its log has a write, or had one that was removed since.
 *
 * One that begins with a later epoch goes on with the data of a folder (first-lead.ts). One of leads and beats alone is of
 * cores that were cut short in their first start: a leader writes only when it has stored its lead, so that there is a folder
 * which has applied something wherever there is a write.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { Timers } from '../../model/clock.ts';
import { messageOf } from '../../model/failure.ts';
import type { Logger } from '../../telemetry/log.ts';
import { readEntry } from '../log/entry.ts';
import type { LogBounds, OrderedLog } from '../log/ordered-log.ts';
import { logStream } from '../nats/log-streams.ts';
import type { NatsConnection } from '../nats/nats-connection.ts';
import { NatsLog } from '../nats/nats-log.ts';
import { ensureStream } from '../nats/nats-stream.ts';

const core = logStream('core');
const againMs = 500;
/** Between two lines in the log. */
const logMs = 10_000;

export interface CoreLogOptions {
  readonly connection: NatsConnection;
  readonly replicas: number;
  readonly timers: Pick<Timers, 'monotonicMs'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Waits for brokers as long as it takes. @throws the signal's reason */
export async function coreLogHasWrites(options: CoreLogOptions): Promise<boolean> {
  const { connection, replicas, timers, log, signal } = options;
  const messages = new NatsLog({ connection, ...core });
  let loggedMs = -Infinity;
  try {
    for (;;) {
      signal.throwIfAborted();
      try {
        await ensureStream(connection, { ...core, replicas });
        return await hasWrites(messages, await messages.bounds());
      } catch (error) {
        if (timers.monotonicMs() - loggedMs >= logMs) {
          loggedMs = timers.monotonicMs();
          const reason = connection.problem ?? messageOf(error);
          log.warn({ reason }, 'waiting for the brokers of the cluster');
        }
      }
      await pause(againMs, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    await messages.close();
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
      if (saysData(seq, body)) resolve(true);
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

/** Of a newer program, it may be one. */
function saysData(seq: number, body: Uint8Array): boolean {
  const entry = readEntry(body);
  if (entry === undefined) return false;
  const { head, content } = entry;
  return content === undefined || content.kind === 'tx' || (seq === 1 && head.epoch > 1);
}
