/**
 * Reads a stream once. Its consumer lives in the memory of one broker and acknowledges nothing.
 *
 * It repairs nothing: a gap, a lost connection, a lost consumer or missed heartbeats end it. The log consumer then begins a
 * new reading (log-consumer.ts), also if nothing comes although the stream has more.
 *
 * Entries are handed over as they come out of the socket, so a slow reader slows the socket: at most `readAhead`
 * entries are on the way, and the heartbeats are counted in the same order.
 */
import { randomBytes } from 'node:crypto';
import type { ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import { messageOf } from '../../model/failure.ts';
import type { LogReader, Reading } from '../log/ordered-log.ts';
import { apiMs, type NatsConnection, type Session } from './nats-connection.ts';

/**
 * Entries that the broker sends ahead. A broker ends a connection that has 64 MB waiting, which 50 entries of 1 MB and a slow
 * reader reach. With 16, one machine reads 46,000 entries/s; over a long line each round trip brings no more than these.
 */
const readAhead = 16;
/** Two of them missed end it. */
const heartbeatMs = 1_000;
/** A request for entries is renewed after this time. */
const pullMs = 30_000;
/** A broker removes a consumer that was not used for so long. */
const unusedMs = 10_000;
const nanosecondsPerMillisecond = 1_000_000;

export interface NatsReadingOptions {
  readonly connection: NatsConnection;
  readonly stream: string;
  readonly from: number;
  readonly reader: LogReader;
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
  #isOver = false;

  constructor(options: NatsReadingOptions) {
    this.#options = options;
    this.#next = options.from;
    this.#read().catch((error: unknown) => this.#fail(messageOf(error), error));
  }

  stop(): void {
    this.#isOver = true;
    for (const free of this.#holds.splice(0).toReversed()) free();
  }

  #fail(why: string, cause?: unknown): void {
    if (this.#isOver) return;
    this.stop();
    const { stream, reader } = this.#options;
    reader.ended(new Error(`Cannot read ${stream} on: ${why}`, { cause }));
  }

  /** Frees at once what came too late. */
  #hold(free: () => void): void {
    if (this.#isOver) free();
    else this.#holds.push(free);
  }

  async #read(): Promise<void> {
    const { connection } = this.#options;
    const session = await connection.ready(apiMs);
    if (this.#isOver) return;
    // Not before there is a session: a new reading that is begun because of a loss would end by the same loss.
    this.#hold(connection.lost.listen(() => this.#fail('the connection was lost')));
    const messages = await this.#consume(session);
    this.#hold(() => messages.stop());
    for await (const { type } of messages.status()) {
      const fault = faults[type];
      if (fault !== undefined) this.#fail(fault);
    }
    this.#fail('the client ended it');
  }

  async #consume({ manager, jetstream }: Session): Promise<ConsumerMessages> {
    const { stream } = this.#options;
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

  #take({ seq, subject, info, data }: JsMsg): void {
    // A position beyond the end is read from the end on.
    if (this.#isOver || seq < this.#options.from) return;
    if (seq !== this.#next) return this.#fail(`entry ${seq} came instead of ${this.#next}`);
    this.#next++;
    this.#options.reader.entry(seq, data, info.timestampNanos / nanosecondsPerMillisecond, subject);
  }
}
