/**
 * A log that begins with existing data: its first entry is a `lead` of the epoch after that of the data, and its chain names
 * the data.
 *
 *   the folder that began it, and copies of that folder   follow the log from this entry on
 *   a folder with other data, or without data             stops as diverged: the applier expects the same chain
 *
 * So no core leads with less than this data, whatever starts meanwhile. A `release` follows the `lead`: the next leader waits
 * for no lease.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../model/failure.ts';
import type { RandomBytes } from '../../model/ids.ts';
import type { Timers } from '../../model/clock.ts';
import type { StoreEnvironment } from '../../store/environment.ts';
import type { Logger } from '../../platform/log.ts';
import { sparseWarning } from '../../platform/sparse-warning.ts';
import type { LogPosition } from './applier.ts';
import { chainAfter, chainBytes, encodeEntry, type Leader, readEntry } from './entry.ts';
import { EnvironmentStore } from './environment-store.ts';
import { type LogName, logStream, streamOf } from '../nats/log-streams.ts';
import type { NatsConnection } from '../nats/nats-connection.ts';
import { NatsLog } from '../nats/nats-log.ts';
import { deleteStream, ensureStream, findBounds, readEntryAt } from '../nats/nats-stream.ts';
import { NodeError } from '../nodes/node-error.ts';

/**
 * Brokers that have just started refuse new streams until each has reported its disk to the others. A new stream has no leader
 * for some seconds, and an append may be lost.
 */
const triesMax = 20;
const retryMs = 500;

export interface LogBeginningOptions {
  readonly connection: NatsConnection;
  readonly name: LogName;
  readonly replicas: number;
  /** Not replicated yet. Its stored position names its data. */
  readonly environment: StoreEnvironment;
  readonly leader: Leader;
}

/** The log begins with other data. */
export class LogBegunError extends NodeError {
  override readonly name = 'LogBegunError';
}

/** Names the data of an environment that no log has: no other data has this chain. Survives a loss of power. */
export async function nameData(
  environment: StoreEnvironment,
  randomBytes: RandomBytes,
): Promise<void> {
  const chain = randomBytes(new Uint8Array(chainBytes));
  await new EnvironmentStore(environment).place({ seq: 0, epoch: 0, n: 0, chain, before: chain });
}

/** Position of the newest entry that was ever appended; 0 without a stream. @throws NodeError */
export async function lastIn(connection: NatsConnection, stream: string): Promise<number> {
  return (await asked(() => findBounds(connection, stream)))?.last ?? 0;
}

/** Words the brokers' answer for the operator. @throws NodeError */
async function asked<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    throw wordedError(error);
  }
}

function wordedError(error: unknown): NodeError {
  const why = messageOf(error);
  return new NodeError(why.startsWith('Cannot ') ? why : `Cannot use the brokers: ${why}`);
}

export interface AnsweredOptions {
  readonly connection: Pick<NatsConnection, 'problem'>;
  readonly timers: Pick<Timers, 'monotonicMs'>;
  readonly log: Logger;
  readonly signal: AbortSignal;
}

/** Repeats what the brokers do not answer, as long as it takes. @throws LogBegunError; the signal's reason */
export async function answered<T>(
  { connection, timers, log, signal }: AnsweredOptions,
  ask: () => Promise<T>,
): Promise<T> {
  const warn = sparseWarning(log, timers, 'waiting for the brokers of the cluster');
  for (;;) {
    signal.throwIfAborted();
    try {
      return await ask();
    } catch (error) {
      if (error instanceof LogBegunError) throw error;
      warn({ reason: connection.problem ?? messageOf(error) });
    }
    await pause(retryMs, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * Begins an empty log with the data of the environment, and stores that the data follows the log's first entry. May run again:
 * a log that began with this data stays.
 * @returns the stored position @throws LogBegunError; NodeError: run it again
 */
export async function beginLog(options: LogBeginningOptions): Promise<LogPosition> {
  const { connection, name, environment, leader } = options;
  const store = new EnvironmentStore(environment);
  const former = store.position();
  if (await isFollowed(options, former)) return former;
  const { epoch: before, n, chain } = former;
  const epoch = before + 1;
  const log = new NatsLog({ connection, ...logStream(name) });
  const lead = encodeEntry({ epoch, n: 0, chain, kind: 'lead', leader, after: n });
  const body = await appendFirst(options, log, lead);
  const after = chainAfter(chain, body);
  const position = { seq: 1, epoch, n: 0, chain: after, before: chain, leader };
  await store.place(position);
  const release = encodeEntry({ epoch, n: 0, chain: after, kind: 'release', to: '' });
  // Without it the next leader waits for a lease that no core holds.
  await log.append(release).catch(() => undefined);
  return position;
}

/** An append that failed may still have arrived: the log's first entry decides. */
async function appendFirst(
  { connection, name, replicas }: LogBeginningOptions,
  log: NatsLog,
  lead: Uint8Array,
): Promise<Uint8Array> {
  const stream = streamOf(name);
  for (let tries = 1; ; tries++) {
    try {
      await ensureStream(connection, { ...logStream(name), replicas });
      if ((await log.bounds()).last === 0) await log.append(lead);
      const body = await readEntryAt(connection, stream, 1);
      if (body !== undefined && isSameLead(body, lead)) return body;
      break;
    } catch (error) {
      if (tries === triesMax || error instanceof NodeError) throw wordedError(error);
    }
    await pause(retryMs);
  }
  throw new LogBegunError(`The stream ${stream} has entries of other nodes`);
}

/** Of the same data: another run of the process may have written it. */
function isSameLead(body: Uint8Array, lead: Uint8Array): boolean {
  const [read, own] = [readEntry(body), readEntry(lead)];
  if (read?.content?.kind !== 'lead' || read.head.epoch !== own?.head.epoch) return false;
  return Buffer.compare(read.chain, own.chain) === 0;
}

/** Whether the log continues from this position. */
export async function isFollowed(
  { connection, name }: Pick<LogBeginningOptions, 'connection' | 'name'>,
  { seq, before, chain }: LogPosition,
): Promise<boolean> {
  if (seq === 0) return false;
  const bounds = await asked(() => findBounds(connection, streamOf(name)));
  if (bounds === undefined || bounds.last < seq || bounds.first > seq + 1) return false;
  const body = await asked(() => readEntryAt(connection, streamOf(name), seq));
  // The entry was pruned, and the next one is there.
  if (body === undefined) return bounds.first === seq + 1;
  return Buffer.compare(chainAfter(before, body), chain) === 0;
}

/** Deletes the log with all of its entries. */
export const deleteLog = (connection: NatsConnection, name: LogName): Promise<void> =>
  asked(() => deleteStream(connection, streamOf(name)));
