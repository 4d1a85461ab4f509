/**
 * An ordered log on one stream of NATS JetStream. Positions are the stream's own.
 *
 * What is trusted: that a stream has one order, and that an ack says a majority has the entry. What is not: that a
 * consumer delivers each entry (three of four test runs with killed brokers stalled one), so a reading counts by itself,
 * and ends where the next entry is not the next.
 *
 * An append that is refused may be in the stream all the same. While the stream has no leader appends are refused at
 * once: pause before sending again.
 */
import { messageOf } from '../../model/failure.ts';
import { apiMs, type NatsConnection, type Session } from './nats-connection.ts';
import { NatsReading } from './nats-reading.ts';
import { boundsOf } from './nats-stream.ts';
import { storageFull } from '../log/ordered-log.ts';
import type { LogBounds, LogReader, OrderedLog, Reading } from '../log/ordered-log.ts';

/** An ack takes a millisecond or two. It never comes from a leader that hangs, and a new one leads after 4 to 9 s. */
const appendMs = 2_000;

export interface NatsLogOptions {
  readonly connection: NatsConnection;
  readonly stream: string;
  /** Of what this machine appends: the stream's, or one that its pattern takes. A reading has all of them. */
  readonly subject: string;
}

export class NatsLog implements OrderedLog {
  readonly #options: NatsLogOptions;

  constructor(options: NatsLogOptions) {
    this.#options = options;
  }

  append(body: Uint8Array): Promise<number> {
    const { stream, subject } = this.#options;
    return this.#ask('append to', async ({ jetstream }) => {
      const ack = await jetstream.publish(subject, body, { timeout: appendMs });
      if (ack.stream !== stream) throw new Error(`stream ${ack.stream} took the entry`);
      return ack.seq;
    });
  }

  follow(from: number, reader: LogReader): Reading {
    return new NatsReading({ ...this.#options, from, reader });
  }

  bounds(): Promise<LogBounds> {
    const { stream } = this.#options;
    return this.#ask('ask for the bounds of', async ({ manager }) =>
      boundsOf(await manager.streams.info(stream)),
    );
  }

  async prune(below: number): Promise<void> {
    const { stream } = this.#options;
    const { first, last } = await this.bounds();
    // A purge below a position that is not there yet would leave out the positions up to it.
    const seq = Math.min(below, last + 1);
    if (seq <= first) return;
    await this.#ask('prune', ({ manager }) => manager.streams.purge(stream, { seq }));
  }

  /** When an entry was appended, by the clock of a broker; undefined where it is not there. */
  timeOf(seq: number): Promise<number | undefined> {
    const { stream } = this.#options;
    return this.#ask('read an entry of', async ({ manager }) => {
      const message = await manager.streams.getMessage(stream, { seq });
      return message?.time.getTime();
    });
  }

  /** The client refuses what waits for an answer after 2 s, and where it loses the connection. */
  async #ask<T>(action: string, work: (session: Session) => Promise<T>): Promise<T> {
    try {
      return await work(await this.#options.connection.ready(apiMs));
    } catch (error) {
      const text = `Cannot ${action} ${this.#options.stream}: ${faultOf(error)}`;
      throw new Error(text, { cause: error });
    }
  }
}

/** Error codes of JetStream: `insufficient resources`, `insufficient storage resources available`, `stream store failed`. */
const fullCodes = [10_023, 10_047, 10_077];

/** The client takes a subject without a listener for a server without JetStream. */
function faultOf(error: unknown): string {
  const isFull =
    error instanceof Error && 'code' in error && fullCodes.includes(Number(error.code));
  if (isFull) return storageFull;
  const name = error instanceof Error ? error.name : '';
  if (name === 'TimeoutError') return 'it does not answer';
  return name === 'JetStreamNotEnabled' ? 'it has no leader now' : messageOf(error);
}
