/**
 * The stream under an ordered log: created as the log needs it. A stream that an operator created is never changed: it is
 * refused, with the reasons, where it would lose entries.
 */
import type { ClusterInfo, StreamConfig, StreamInfo, StreamState } from '@nats-io/jetstream';
import type { Timers } from '../../model/clock.ts';
import { messageOf } from '../../model/failure.ts';
import type { LogBounds } from '../log/ordered-log.ts';
import { NodeError } from '../nodes/node-error.ts';
import { apiMs, type NatsConnection } from './nats-connection.ts';

export interface NatsStreamOptions {
  readonly stream: string;
  /** Of all entries; or a pattern, such as `qz.scans.>`. */
  readonly subject: string;
  /** 3 or 5 for a cluster of brokers, 1 for one alone. */
  readonly replicas: number;
}

/** Appends carry no id, so the broker never finds a duplicate and need not remember ids for long. */
const duplicateWindowNs = 1_000_000_000;
const unlimited = -1;

/** Error code of JetStream: a broker alone keeps one replica. */
const aloneCode = 10_074;

/** @throws NodeError where the stream would lose entries, or the brokers are too few; another Error may pass */
export async function ensureStream(
  connection: NatsConnection,
  { stream, subject, replicas }: NatsStreamOptions,
): Promise<void> {
  const { manager } = await connection.ready(apiMs);
  let config = await unlessMissing(async () => (await manager.streams.info(stream)).config);
  // Where another machine makes it now, the same settings are no error.
  config ??= await manager.streams.add(settingsOf(stream, subject, replicas)).then(
    (info) => info.config,
    (error: unknown) => {
      const isFinal = error instanceof Error && 'code' in error && error.code === aloneCode;
      const why = isFinal ? `expected ${replicas} brokers (cluster.replicas)` : messageOf(error);
      const Kind = isFinal ? NodeError : Error;
      throw new Kind(`Cannot make the stream ${stream}: ${why}`, { cause: error });
    },
  );
  const faults = faultsOf(config, subject, replicas);
  if (faults.length === 0) return;
  throw new NodeError(
    `Cannot use the stream ${stream}, which would lose entries: ${faults.join('; ')}`,
  );
}

/** A stream is made when the brokers answer, and again where they have lost it. */
const ensureMs = 5_000;
/** The same while it cannot be used. */
const ensureAgainMs = 500;

export interface KeptStream {
  /** Why the stream cannot be used, while it cannot. */
  fault(): string | undefined;
  stop(): void;
}

/** Makes a stream, and looks again and again whether it is there. @param onFault is called for the first of several faults */
export function keepStream(
  connection: NatsConnection,
  options: NatsStreamOptions,
  { after }: Pick<Timers, 'after'>,
  onFault: (reason: string) => void = () => undefined,
): KeptStream {
  let fault: string | undefined;
  let cancel: (() => void) | undefined = () => undefined;
  const look = async (): Promise<void> => {
    const found = await ensureStream(connection, options).then(() => undefined, messageOf);
    if (cancel === undefined) return;
    if (found !== undefined && fault === undefined) onFault(found);
    fault = found;
    cancel = after(fault === undefined ? ensureMs : ensureAgainMs, () => void look());
  };
  void look();
  const stop = (): void => {
    cancel?.();
    cancel = undefined;
  };
  return { fault: () => fault, stop };
}

/** Undefined where there is no such stream. @throws Error also where no majority of its copies answers */
export async function findBounds(
  connection: NatsConnection,
  stream: string,
): Promise<LogBounds | undefined> {
  const { manager } = await connection.ready(apiMs);
  return await unlessMissing(async () => boundsOf(await manager.streams.info(stream)));
}

/** What is known of a stream, as far as its bounds go by it. */
interface BoundsSeen extends Pick<StreamInfo, 'cluster'> {
  readonly config: Pick<StreamConfig, 'name'>;
  readonly state: Pick<StreamState, 'messages' | 'first_seq' | 'last_seq'>;
}

/** @throws Error where a leader says it that may have been replaced */
export function boundsOf({ config, state, cluster }: BoundsSeen): LogBounds {
  if (!hasMajority(cluster)) throw new Error(`the leader of ${config.name} has lost the majority`);
  const last = state.last_seq;
  return { first: state.messages === 0 ? last + 1 : state.first_seq, last };
}

/** Undefined where it is not there. */
export async function readEntryAt(
  connection: NatsConnection,
  stream: string,
  seq: number,
): Promise<Uint8Array | undefined> {
  const { manager } = await connection.ready(apiMs);
  return await unlessMissing(async () => (await manager.streams.getMessage(stream, { seq }))?.data);
}

/** With all of its entries. A missing stream is not a fault. */
export async function deleteStream(connection: NatsConnection, stream: string): Promise<void> {
  const { manager } = await connection.ready(apiMs);
  await unlessMissing(async () => manager.streams.delete(stream));
}

/** Undefined where the brokers answer that there is no such stream. */
export async function unlessMissing<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Error && error.name === 'StreamNotFoundError') return undefined;
    throw error;
  }
}

/** Less than the 4 s after which another leader may be elected, more than the second between heartbeats. */
const seenNs = 3_000_000_000;

/**
 * Whether a leader speaks for its stream. One that was cut off from the others still answers what it knows, seen
 * for 12 s and more, while they elect another. It reports when each of them last answered: if a majority, itself included, has
 * answered within less than an election takes, no other leader exists.
 * @param cluster undefined for a broker alone
 */
export function hasMajority(cluster: ClusterInfo | undefined): boolean {
  if (cluster === undefined) return true;
  const { leader, replicas = [] } = cluster;
  const seen = replicas.filter(({ active, offline }) => !offline && active <= seenNs);
  return leader !== undefined && leader !== '' && (seen.length + 1) * 2 > replicas.length + 1;
}

const settingsOf = (stream: string, subject: string, replicas: number) =>
  ({
    name: stream,
    subjects: [subject],
    storage: 'file',
    retention: 'limits',
    discard: 'new',
    max_age: 0,
    max_msgs: unlimited,
    max_bytes: unlimited,
    max_msgs_per_subject: unlimited,
    max_msg_size: unlimited,
    num_replicas: replicas,
    duplicate_window: duplicateWindowNs,
    // Else replicas that lag behind answer too.
    allow_direct: false,
    // A hole in the middle ends every reading there.
    deny_delete: true,
    // Entries that all cores have are removed (log/log-pruning.ts).
    deny_purge: false,
  }) satisfies Partial<StreamConfig>;

/** What an existing stream would lose entries by. */
export function faultsOf(config: StreamConfig, subject: string, replicas: number): string[] {
  const faults: string[] = [];
  const check = (fault: string | false | undefined): void => {
    if (fault) faults.push(fault);
  };
  const subjects = (config.subjects ?? []).join(', ');
  check(subjects !== subject && `it takes the subjects ${subjects}, expected ${subject} alone`);
  check(config.storage !== 'file' && `its storage is ${config.storage}, expected file`);
  check(config.retention !== 'limits' && `its retention is ${config.retention}, expected limits`);
  const found = config.num_replicas;
  check(found < replicas && `it has ${found} replicas, expected ${replicas} or more`);
  check(config.max_age > 0 && 'it has a max_age, expected none');
  check(config.max_msgs_per_subject > 0 && 'it has a max_msgs_per_subject, expected none');
  if (config.discard === 'old') {
    check(config.max_msgs > 0 && 'it has max_msgs with discard old, expected none or discard new');
    check(
      config.max_bytes > 0 && 'it has max_bytes with discard old, expected none or discard new',
    );
  }
  check(config.no_ack && 'it acknowledges nothing, expected no_ack off');
  check(!config.deny_delete && 'single entries can be deleted, expected deny_delete');
  check(config.deny_purge && 'it cannot be pruned, expected deny_purge off');
  check(config.mirror !== undefined && 'it is a mirror, expected a stream of its own');
  const sources = config.sources ?? [];
  check(sources.length > 0 && 'it takes entries of other streams, expected none');
  return faults;
}
