/**
 * A log that begins with data which is there already: the first entry is a `lead` of the epoch after that of the data, and
 * says by its chain which data it is.
 *
 *   the folder that has begun it, and copies of that   go on behind this entry
 *   who has other data, or none                        stops as diverged: the rules of the applier want the same chain
 *
 * So nobody leads with less than this machine has, whatever starts meanwhile. A `release` follows: the next that wants to
 * lead waits for no lease.
 */
import { messageOf } from '../model/failure.ts';
import type { StoreEnvironment } from '../store/environment.ts';
import type { LogPosition } from './log/applier.ts';
import { chainAfter, encodeEntry, type Leader, readEntry } from './log/entry.ts';
import { EnvironmentStore } from './log/environment-store.ts';
import { type LogName, logStream, streamOf } from './nats/log-streams.ts';
import type { NatsConnection } from './nats/nats-connection.ts';
import { NatsLog } from './nats/nats-log.ts';
import { deleteStream, ensureStreamSoon, findBounds, readEntryAt } from './nats/nats-stream.ts';
import { NodeError } from './nodes/node-error.ts';

/** A new stream has no leader for some seconds, and an append may be lost. */
const triesMax = 10;

export interface LogBeginningOptions {
  readonly connection: NatsConnection;
  readonly name: LogName;
  readonly replicas: number;
  /** Not replicated yet. Its stored position says which data it has. */
  readonly environment: StoreEnvironment;
  readonly leader: Leader;
}

/** Others have begun it, with other data. */
export class LogBegunError extends NodeError {
  override readonly name = 'LogBegunError';
}

/** The entry itself, where the log begins with one for this data. */
type Beginning = 'empty' | 'other' | { readonly body: Uint8Array };

/** Whether the log begins with an entry for this data; `empty` where nothing was ever appended. */
export async function beginningOf(
  { connection, name }: Pick<LogBeginningOptions, 'connection' | 'name'>,
  { epoch, chain }: Pick<LogPosition, 'epoch' | 'chain'>,
): Promise<Beginning> {
  const stream = streamOf(name);
  if ((await lastIn(connection, stream)) === 0) return 'empty';
  const body = await asked(() => readEntryAt(connection, stream, 1));
  const entry = body && readEntry(body);
  const isLead = entry?.content?.kind === 'lead' && entry.head.epoch === epoch + 1;
  return body !== undefined && isLead && Buffer.compare(entry.chain, chain) === 0
    ? { body }
    : 'other';
}

/** Position of the newest entry that was ever appended; 0 where there is no such stream. @throws NodeError */
export async function lastIn(connection: NatsConnection, stream: string): Promise<number> {
  return (await asked(() => findBounds(connection, stream)))?.last ?? 0;
}

/** What the brokers answer is for the operator. @throws NodeError */
async function asked<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const why = messageOf(error);
    throw new NodeError(why.startsWith('Cannot ') ? why : `Cannot use the brokers: ${why}`);
  }
}

/**
 * Begins the log, which is empty or was begun here before, and stores that the data stands behind its first entry.
 * @returns that position @throws LogBegunError where others have begun it; NodeError: begin again
 */
export async function beginLog(options: LogBeginningOptions): Promise<LogPosition> {
  const { connection, name, replicas, environment, leader } = options;
  await asked(() => ensureStreamSoon(connection, { ...logStream(name), replicas }));
  const store = new EnvironmentStore(environment);
  const { epoch: before, n, chain } = store.position();
  const epoch = before + 1;
  const log = new NatsLog({ connection, ...logStream(name) });
  try {
    const lead = encodeEntry({ epoch, n: 0, chain, kind: 'lead', leader, after: n });
    const body = await appendFirst(options, { log, lead, position: { epoch: before, chain } });
    const after = chainAfter(chain, body);
    const position = { seq: 1, epoch, n: 0, chain: after, before: chain, leader };
    await store.place(position);
    const release = encodeEntry({ epoch, n: 0, chain: after, kind: 'release', to: '' });
    // Without it the next leader waits for a lease that nobody holds.
    await log.append(release).catch(() => undefined);
    return position;
  } finally {
    await log.close();
  }
}

interface First {
  readonly log: NatsLog;
  readonly lead: Uint8Array;
  readonly position: Pick<LogPosition, 'epoch' | 'chain'>;
}

/** An append that was answered with an error may be there all the same: what is read decides. */
async function appendFirst(
  options: LogBeginningOptions,
  { log, lead, position }: First,
): Promise<Uint8Array> {
  const { name } = options;
  let why = 'nothing was appended';
  for (let tries = 0; tries < triesMax; tries++) {
    const beginning = await beginningOf(options, position);
    if (beginning === 'other') {
      throw new LogBegunError(`The stream ${streamOf(name)} has entries of other nodes`);
    }
    if (beginning !== 'empty') return beginning.body;
    await log.append(lead).catch((error: unknown) => (why = messageOf(error)));
  }
  throw new NodeError(`Cannot begin the stream ${streamOf(name)}: ${why}`);
}

/** Whether data that was replicated can go on with the log as it is. */
export async function isFollowed(
  { connection, name }: Pick<LogBeginningOptions, 'connection' | 'name'>,
  { seq, before, chain }: LogPosition,
): Promise<boolean> {
  if (seq === 0) return false;
  const bounds = await asked(() => findBounds(connection, streamOf(name)));
  if (bounds === undefined || bounds.last < seq || bounds.first > seq + 1) return false;
  const body = await asked(() => readEntryAt(connection, streamOf(name), seq));
  // It was pruned, and the next one is there.
  if (body === undefined) return bounds.first === seq + 1;
  return Buffer.compare(chainAfter(before, body), chain) === 0;
}

/** Deletes the log with all that is in it. */
export const deleteLog = (connection: NatsConnection, name: LogName): Promise<void> =>
  asked(() => deleteStream(connection, streamOf(name)));
