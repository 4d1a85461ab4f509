/**
 * One environment of this machine, replicated by one stream of the brokers: what the stream has is applied here, and
 * transactions go there while this machine leads.
 *
 *   stream CORE       subject qz.core       management.mdb
 *   stream DELIVERY   subject qz.delivery   delivery.mdb
 *
 * Brokers may be away when this begins, and for as long as they like: the stream is made when they answer. It is made again
 * where they have lost it: without a stream nothing would ever say that it lacks what was applied.
 */
import { messageOf } from '../model/failure.ts';
import type { Timers } from '../model/clock.ts';
import type { StoreEnvironment } from '../store/environment.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Leader } from './log/entry.ts';
import { EnvironmentStore } from './log/environment-store.ts';
import { storageFull } from './log/ordered-log.ts';
import type { TimedLog } from './log/log-pruning.ts';
import { LogReplicator, type ReplicatorStatus, type Stop } from './log/replicator.ts';
import { type LogName, logStream } from './nats/log-streams.ts';
import type { NatsConnection } from './nats/nats-connection.ts';
import { NatsLog, type NatsLogOptions } from './nats/nats-log.ts';
import { ensureStream } from './nats/nats-stream.ts';

/** Of a leader, on every machine of the cluster alike. */
const leaseMs = 3_000;
const beatMs = 500;
/** A round trip to the brokers, where they answer. */
const releaseMsMax = 1_000;
/** An election of the brokers takes longer, and is reported too. */
const refusedMsMax = 3_000;
/** Between two tries to make the stream. */
const makeAgainMs = 1_000;

export interface StoreReplicationOptions {
  readonly environment: StoreEnvironment;
  readonly connection: NatsConnection;
  readonly name: LogName;
  readonly replicas: number;
  readonly self: Leader;
  readonly timers: Timers;
  /** From 0 up to 1. */
  readonly random: () => number;
  readonly log: Logger;
  /** Whether this machine may begin to lead; absent = always. */
  readonly mayLead?: (() => boolean) | undefined;
  /** This process leads now, no longer, or never again: `status` says which. */
  readonly onChanged: () => void;
}

/** For a machine that follows no longer. */
const remedies: Readonly<Record<Stop['reason'], string>> = {
  behind: 'stop it, `quietzone cluster join` copies the data of another core, start it',
  diverged:
    'where another core leads: stop it, `quietzone cluster join`, start it; where none does: `quietzone cluster reseed` on the core with the most',
  newer: 'start the release that the other nodes run',
  unapplied: 'mend what the error says, and start it again',
};

/** Records why appends fail, and since when. */
class WatchedLog extends NatsLog {
  readonly #timers: Pick<Timers, 'monotonicMs'>;
  #refused: { readonly detail: string; readonly sinceMs: number } | undefined;

  constructor(options: NatsLogOptions, timers: Pick<Timers, 'monotonicMs'>) {
    super(options);
    this.#timers = timers;
  }

  /** Undefined where the newest append was made. */
  get refusal(): { readonly detail: string; readonly ms: number } | undefined {
    const refused = this.#refused;
    return refused && { ...refused, ms: this.#timers.monotonicMs() - refused.sinceMs };
  }

  override async append(body: Uint8Array): Promise<number> {
    const { sinceMs = this.#timers.monotonicMs() } = this.#refused ?? {};
    try {
      const seq = await super.append(body);
      this.#refused = undefined;
      return seq;
    } catch (error) {
      this.#refused = { detail: messageOf(error), sinceMs };
      throw error;
    }
  }
}

export class StoreReplication {
  readonly #options: StoreReplicationOptions;
  readonly #replicator: LogReplicator;
  readonly #store: EnvironmentStore;
  readonly #messages: WatchedLog;
  /** Before this process. */
  readonly #firstEpoch: number;
  #isClosed = false;
  #isMaking = false;
  #cancel: () => void = () => undefined;
  /** Why the stream cannot be used, while it cannot. */
  #streamFault: string | undefined;

  /** From here on `environment` takes no other writes; nothing is read before `start`. */
  constructor(options: StoreReplicationOptions) {
    this.#options = options;
    const { environment, connection, name, timers, onChanged } = options;
    const onMissing = (): void => this.#madeAgain();
    this.#messages = new WatchedLog({ connection, ...logStream(name), onMissing }, timers);
    this.#store = new EnvironmentStore(environment);
    this.#replicator = new LogReplicator({
      ...options,
      log: this.#messages,
      store: this.#store,
      leaseMs,
      beatMs,
      onLeading: onChanged,
      onDeposed: onChanged,
      onStopped: (stop) => this.#stopped(stop),
    });
    this.#firstEpoch = this.status.position.epoch;
    environment.replicateWith(this.#replicator);
  }

  get status(): ReplicatorStatus {
    return this.#replicator.status;
  }

  get isLeading(): boolean {
    return this.status.state === 'leader';
  }

  /** This machine leads, and no other can yet: what it reads is the newest. */
  get isHeld(): boolean {
    return this.#replicator.isHeld;
  }

  /** This machine leads, or follows the leader closely: its data is at most a lease old. */
  get isCurrent(): boolean {
    return this.#replicator.isCurrent;
  }

  /** The stream itself: what removes its oldest entries asks it. */
  get messages(): TimedLog {
    return this.#messages;
  }

  /** The newest entry that is applied, and in the store. */
  get storedSeq(): number {
    return this.#store.position().seq;
  }

  /** The same, once it survives a loss of power. */
  async flushedSeq(): Promise<number> {
    const seq = this.storedSeq;
    await this.#options.environment.flush();
    return seq;
  }

  /** Where only beats came for long: the positions of all cores move on. @throws Failure not_active */
  async moveOn(nowMs: number): Promise<void> {
    await this.#store.moveOn(nowMs);
  }

  /** Cores that began to lead since this process started. */
  get failovers(): number {
    return Math.max(0, this.status.position.epoch - this.#firstEpoch);
  }

  /** A sentence for the operator, while something is wrong. */
  get problem(): string | undefined {
    const { stop, fault } = this.status;
    const stopped = stop && `${stop.detail}; ${remedies[stop.reason]}`;
    return stopped ?? fault ?? this.#streamFault ?? this.#refused;
  }

  /** For how long this machine could append nothing to the log; 0 where it can, or need not. */
  get refusedMs(): number {
    return this.#refusal?.ms ?? 0;
  }

  /** The brokers refuse to store what this machine appends. */
  get isStorageFull(): boolean {
    return this.#refusal?.detail.includes(storageFull) === true;
  }

  /** Only a leader and a candidate append. */
  get #refusal(): WatchedLog['refusal'] {
    const { state } = this.status;
    return state === 'leader' || state === 'candidate' ? this.#messages.refusal : undefined;
  }

  get #refused(): string | undefined {
    const refusal = this.#refusal;
    if (this.isStorageFull) {
      return `${storageFull}: changes are refused, redirects continue; raise max_file_store, or free space there`;
    }
    if (refusal === undefined || refusal.ms < refusedMsMax) return undefined;
    return `nothing could be appended for ${Math.floor(refusal.ms / 1_000)} s, changes are refused: ${refusal.detail}`;
  }

  /** Why this machine's data is not that of the log; undefined where it is. */
  get diverged(): string | undefined {
    const { stop } = this.status;
    return stop?.reason === 'diverged' ? stop.detail : undefined;
  }

  start(): void {
    void this.#makeStream();
    this.#replicator.start();
  }

  /**
   * A leader gives the lead away. Resolves when this machine does not lead, which takes as long as the brokers are away.
   * @param to who shall lead next, its owner; absent = any
   */
  async release(to?: string): Promise<void> {
    await this.#replicator.release(to);
  }

  /** The same at an end, which waits no longer than a second: without brokers the others find out by themselves. */
  async releaseAtEnd(): Promise<void> {
    const { timers, log } = this.#options;
    if (this.status.state !== 'leader') return;
    const late = Promise.withResolvers<'late'>();
    const cancel = timers.after(releaseMsMax, () => late.resolve('late'));
    if ((await Promise.race([this.release(), late.promise])) === 'late') {
      log.warn(
        { waitedMs: releaseMsMax },
        'the lead was not given away: the others wait for its lease',
      );
    } else {
      log.info('the lead was given away');
    }
    cancel();
  }

  /** Reads and writes nothing more. The connection is its owner's. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel();
    this.#replicator.close();
    await this.#messages.close();
  }

  /**
   * A broker that starts late does not know the stream yet: making it again changes nothing. If the brokers were replaced or
   * the stream was deleted, the new stream is empty: a machine that has applied more stops, and says why.
   */
  #madeAgain(): void {
    if (this.#isMaking || this.#isClosed) return;
    this.#options.log.warn(
      { log: this.#options.name },
      'a broker does not know the stream of this log: making it',
    );
    void this.#makeStream();
  }

  async #makeStream(): Promise<void> {
    const { connection, name, replicas, timers, log } = this.#options;
    this.#isMaking = true;
    try {
      await ensureStream(connection, { ...logStream(name), replicas });
      this.#streamFault = undefined;
      this.#isMaking = false;
    } catch (error) {
      const reason = messageOf(error);
      if (this.#isClosed) return;
      if (this.#streamFault === undefined)
        log.warn({ reason }, 'a stream cannot be used, retrying');
      this.#streamFault = reason;
      this.#cancel = timers.after(makeAgainMs, () => void this.#makeStream());
    }
  }

  #stopped(stop: Stop): void {
    const { log, name, onChanged } = this.#options;
    log.error(
      { ...stop, log: name, remedy: remedies[stop.reason] },
      'this machine no longer follows the cluster: it redirects by what it has',
    );
    onChanged();
  }
}
