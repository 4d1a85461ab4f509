/**
 * One reading of a stream, by a consumer of its own that lives in the memory of one broker and is never acknowledged.
 *
 *     opening ──▶ reading ──▶ over
 *     consumer made    each entry counted    `ended`, or stopped
 *
 * It ends, instead of repairing itself, with whatever is not as it should be: a gap, a lost connection, a lost
 * consumer, missed heartbeats. The log consumer then begins a new one (log-consumer.ts), also where nothing comes although
 * the stream has more.
 *
 * Entries are handed over as they come out of the socket, so a slow reader slows the socket: at most `readAhead`
 * entries are on the way, and the heartbeats are counted in the same order.
 */
import { randomBytes } from 'node:crypto';
import type { ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import { messageOf } from '../../model/failure.ts';
import type { NatsConnection, Session } from './nats-connection.ts';
import {
  LogPrunedError,
  type LogBounds,
  type LogReader,
  type Reading,
} from '../log/ordered-log.ts';

/** For a connection. */
const connectedMs = 5_000;
/** A consumer may be placed on a broker that died a moment ago, and never opens: the next one is placed elsewhere. */
const openMs = 1_500;
/** Two of them missed end it. */
const heartbeatMs = 1_000;
/** A request for entries is renewed after this time. */
const pullMs = 30_000;
/** A broker removes a consumer that nothing asks any more. */
const unusedMs = 10_000;
const nanosecondsPerMillisecond = 1_000_000;

export interface NatsReadingOptions {
  readonly connection: NatsConnection;
  readonly stream: string;
  readonly readAhead: number;
  readonly from: number;
  readonly reader: LogReader;
  readonly bounds: () => Promise<LogBounds>;
  /** It was stopped, or ended. */
  readonly gone: (reading: NatsReading) => void;
}

/** What the client says of a consumer that brings nothing more. */
const faults: Readonly<Record<string, string>> = {
  heartbeats_missed: 'the broker is silent',
  consumer_deleted: 'its consumer was deleted',
  consumer_not_found: 'its consumer is gone',
  stream_not_found: 'there is no such stream',
  no_responders: 'its consumer has no leader',
  exceeded_limits: 'the broker refuses its requests',
};

export class NatsReading implements Reading {
  readonly #options: NatsReadingOptions;
  /** Frees what it holds, last first. */
  readonly #holds: (() => void)[] = [];
  #next: number;
  #state: 'opening' | 'reading' | 'over' = 'opening';
  /** An entry is missing, and it is being asked whether it was pruned. */
  #gap = false;

  constructor(options: NatsReadingOptions) {
    this.#options = options;
    this.#next = options.from;
  }

  begin(): void {
    this.#open().catch((error: unknown) => this.#fail(messageOf(error), error));
  }

  stop(): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    for (const free of this.#holds.toReversed()) free();
    this.#options.gone(this);
  }

  end(error: Error): void {
    if (this.#state === 'over') return;
    this.stop();
    this.#options.reader.ended(error);
  }

  #fail(why: string, cause?: unknown): void {
    this.end(new Error(`Cannot read ${this.#options.stream} on: ${why}`, { cause }));
  }

  /** Asked again after each wait. */
  #isOver(): boolean {
    return this.#state === 'over';
  }

  /** Frees at once what came too late. */
  #hold(free: () => void): void {
    if (this.#state === 'over') free();
    else this.#holds.push(free);
  }

  async #open(): Promise<void> {
    const { connection } = this.#options;
    const session = await connection.ready(connectedMs);
    if (this.#isOver()) return;
    // Not before there is a session: a new reading that is begun because of a loss would end by the same loss.
    this.#hold(connection.lost.listen(() => this.#fail('the connection was lost')));
    const timer = setTimeout(() => {
      if (this.#state === 'opening') this.#fail('its consumer does not open');
    }, openMs);
    this.#hold(() => clearTimeout(timer));
    const messages = await this.#consume(session);
    this.#hold(() => messages.stop());
    if (this.#isOver()) return;
    this.#state = 'reading';
    // After the consumer: what is pruned from now on leaves a gap. Without a leader there is no answer, and no harm.
    this.#options.bounds().then(
      (bounds) => this.#endPruned(bounds),
      () => {},
    );
    for await (const { type } of messages.status()) {
      const fault = faults[type];
      if (fault !== undefined) this.#fail(fault);
    }
    this.#fail('the client ended it');
  }

  async #consume({ manager, jetstream }: Session): Promise<ConsumerMessages> {
    const { stream, readAhead } = this.#options;
    const name = `r${randomBytes(12).toString('hex')}`;
    this.#hold(() => void manager.consumers.delete(stream, name).catch(() => {}));
    const consumer = await manager.consumers.add(stream, {
      name,
      ack_policy: 'none',
      deliver_policy: 'by_start_sequence',
      opt_start_seq: this.#options.from,
      inactive_threshold: unusedMs * nanosecondsPerMillisecond,
      mem_storage: true,
      num_replicas: 1,
    });
    return jetstream.consumers.getConsumerFromInfo(consumer).consume({
      max_messages: readAhead,
      expires: pullMs,
      idle_heartbeat: heartbeatMs,
      callback: (message) => this.#take(message),
    });
  }

  #take(message: JsMsg): void {
    if (this.#state === 'over' || this.#gap) return;
    const { seq, subject, info } = message;
    if (seq === this.#next) {
      this.#next++;
      const atMs = info.timestampNanos / nanosecondsPerMillisecond;
      this.#options.reader.entry(seq, message.data, atMs, subject);
      return;
    }
    // A position beyond the end is read from the end on.
    if (seq < this.#options.from) return;
    this.#gap = true;
    void this.#explainGap(seq);
  }

  async #explainGap(seq: number): Promise<void> {
    const bounds = await this.#options.bounds().catch(() => undefined);
    if (bounds !== undefined && this.#endPruned(bounds)) return;
    this.#fail(`entry ${seq} came instead of ${this.#next}`);
  }

  #endPruned({ first }: LogBounds): boolean {
    if (first <= this.#next) return false;
    this.end(
      new LogPrunedError(
        `Entry ${this.#next} was pruned: ${this.#options.stream} begins at ${first}`,
      ),
    );
    return true;
  }
}
