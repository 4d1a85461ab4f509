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
import type { Timers } from '../../model/clock.ts';
import type { StoreEnvironment } from '../../store/environment.ts';
import type { Logger } from '../../platform/log.ts';
import type { Leader } from './entry.ts';
import { EnvironmentStore } from './environment-store.ts';
import { storageFull } from './ordered-log.ts';
import type { TimedLog } from './log-pruning.ts';
import { LogReplicator, type ReplicatorStatus, type Stop } from './replicator.ts';
import { type LogName, logStream } from '../nats/log-streams.ts';
import type { NatsConnection } from '../nats/nats-connection.ts';
import { NatsLog } from '../nats/nats-log.ts';
import { type KeptStream, keepStream } from '../nats/nats-stream.ts';

/** Of a leader, on every machine of the cluster alike. */
const leaseMs = 3_000;
const beatMs = 500;
/** A round trip to the brokers, where they answer. */
const releaseMsMax = 1_000;
/** An election of the brokers takes longer, and is reported too. */
const refusedMsMax = 3_000;

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
  behind: 'stop it, run `quietzone cluster join`, start it: it copies the data of another core',
  diverged:
    'where another core leads: stop it, `quietzone cluster join`, start it; where none does: `quietzone cluster reseed` on the core with the most',
  newer: 'start the release that the other nodes run',
  unapplied: 'mend what the error says, and start it again',
};

export class StoreReplication {
  readonly #options: StoreReplicationOptions;
  readonly #replicator: LogReplicator;
  readonly #store: EnvironmentStore;
  readonly #messages: NatsLog;
  /** Before this process. */
  readonly #firstEpoch: number;
  #stream: KeptStream | undefined;

  /** From here on `environment` takes no other writes; nothing is read before `start`. */
  constructor(options: StoreReplicationOptions) {
    this.#options = options;
    const { environment, connection, name, onChanged } = options;
    this.#messages = new NatsLog({ connection, ...logStream(name) });
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
    return stopped ?? fault ?? this.#stream?.fault() ?? this.#refused;
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
  get #refusal(): ReplicatorStatus['refusal'] {
    const { state, refusal } = this.status;
    return state === 'leader' || state === 'candidate' ? refusal : undefined;
  }

  get #refused(): string | undefined {
    const refusal = this.#refusal;
    if (this.isStorageFull) {
      return `${storageFull}: changes are refused, redirects continue; raise max_file_store, or free space there`;
    }
    if (refusal === undefined || refusal.ms < refusedMsMax) return undefined;
    return `nothing could be appended for ${Math.floor(refusal.ms / 1_000)} s, changes are refused: ${refusal.detail}`;
  }

  /** Why this machine no longer follows the log; undefined while it does. */
  get stopped(): string | undefined {
    return this.status.stop?.detail;
  }

  start(): void {
    const { connection, name, replicas, timers, log } = this.#options;
    this.#stream = keepStream(connection, { ...logStream(name), replicas }, timers, (reason) =>
      log.warn({ reason }, 'a stream cannot be used, retrying'),
    );
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
  close(): void {
    this.#stream?.stop();
    this.#replicator.close();
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
