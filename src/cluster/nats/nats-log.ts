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
import { boundsOf, isMissing } from './nats-stream.ts';
import { storageFull } from '../log/ordered-log.ts';
import type { LogBounds, LogReader, OrderedLog, Reading } from '../log/ordered-log.ts';

/** An ack takes a millisecond or two. It never comes from a leader that hangs, and a new one leads after 4 to 9 s. */
const appendMs = 2_000;

const readAheadUsual = 16;

export interface NatsLogOptions {
  readonly connection: NatsConnection;
  readonly stream: string;
  /** Of what this machine appends: the stream's, or one that its pattern takes. A reading has all of them. */
  readonly subject: string;
  /**
   * Entries that the broker sends ahead of a reading. It ends a connection that has 64 MB waiting and counts what it is
   * writing until all of it is written: with 50 entries of 1 MB and a slow reader it did. 16 read 46,000 entries/s on
   * one machine, 50 twice as many; over a long line each round trip brings no more than these, so a log of small
   * entries takes more.
   */
  readonly readAhead?: number;
  /** The brokers answer, and have no such stream. Called each time that they say so when asked for its bounds. */
  readonly onMissing?: (() => void) | undefined;
}

export class NatsLog implements OrderedLog {
  readonly #options: NatsLogOptions & Required<Pick<NatsLogOptions, 'readAhead'>>;
  readonly #readings = new Set<NatsReading>();
  /** Refuse what waits. */
  readonly #waiting = new Set<(error: Error) => void>();
  #closed = false;

  constructor(options: NatsLogOptions) {
    this.#options = { readAhead: readAheadUsual, ...options };
  }

  append(body: Uint8Array): Promise<number> {
    const { stream, subject } = this.#options;
    return this.#ask('append to', appendMs, async ({ jetstream }) => {
      const ack = await jetstream.publish(subject, body, { timeout: appendMs });
      if (ack.stream !== stream) throw new Error(`stream ${ack.stream} took the entry`);
      return ack.seq;
    });
  }

  follow(from: number, reader: LogReader): Reading {
    const { connection, stream, readAhead } = this.#options;
    const reading = new NatsReading({
      connection,
      stream,
      readAhead,
      from,
      reader,
      bounds: () => this.bounds(),
      gone: (gone) => void this.#readings.delete(gone),
    });
    this.#readings.add(reading);
    if (this.#closed) queueMicrotask(() => reading.end(closedError()));
    else reading.begin();
    return reading;
  }

  bounds(): Promise<LogBounds> {
    const { stream } = this.#options;
    return this.#ask('ask for the bounds of', apiMs, async ({ manager }) => {
      const info = await manager.streams.info(stream).catch((error: unknown) => {
        if (isMissing(error)) this.#options.onMissing?.();
        throw error;
      });
      return boundsOf(info);
    });
  }

  async prune(below: number): Promise<void> {
    const { stream } = this.#options;
    const { first, last } = await this.bounds();
    // A purge below a position that is not there yet would leave out the positions up to it.
    const seq = Math.min(below, last + 1);
    if (seq <= first) return;
    await this.#ask('prune', apiMs, ({ manager }) => manager.streams.purge(stream, { seq }));
  }

  /** When an entry was appended, by the clock of a broker; undefined where it is not there. */
  timeOf(seq: number): Promise<number | undefined> {
    const { stream } = this.#options;
    return this.#ask('read an entry of', apiMs, async ({ manager }) => {
      const message = await manager.streams.getMessage(stream, { seq });
      return message?.time.getTime();
    });
  }

  close(): Promise<void> {
    this.#closed = true;
    for (const reading of this.#readings) reading.stop();
    for (const refuse of this.#waiting) refuse(closedError());
    return Promise.resolve();
  }

  /** Waits for a connection, and for the answer while that connection lasts: both within `withinMs`. */
  #ask<T>(action: string, withinMs: number, work: (session: Session) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(closedError());
    const { connection, stream } = this.#options;
    return new Promise((resolve, reject) => {
      let settled = false;
      let unlisten = (): void => {};
      const settle = (): void => {
        settled = true;
        clearTimeout(timer);
        unlisten();
        this.#waiting.delete(refuse);
      };
      const refuse = (error: unknown): void => {
        if (settled) return;
        settle();
        reject(new Error(`Cannot ${action} ${stream}: ${faultOf(error)}`, { cause: error }));
      };
      const timer = setTimeout(() => refuse(new Error('it does not answer')), withinMs);
      this.#waiting.add(refuse);
      const answer = async (): Promise<void> => {
        const session = await connection.ready(withinMs);
        if (settled) return;
        unlisten = connection.lost.listen(() => refuse(new Error('the connection was lost')));
        const value = await work(session);
        if (settled) return;
        settle();
        resolve(value);
      };
      answer().catch(refuse);
    });
  }
}

const closedError = (): Error => new Error('the log is closed');

/** Error codes of JetStream: `insufficient resources`, `insufficient storage resources available`, `stream store failed`. */
const fullCodes = [10_023, 10_047, 10_077];

/** The client takes a subject without a listener for a server without JetStream. */
function faultOf(error: unknown): string {
  const isFull =
    error instanceof Error && 'code' in error && fullCodes.includes(Number(error.code));
  if (isFull) return storageFull;
  const withoutLeader = error instanceof Error && error.name === 'JetStreamNotEnabled';
  return withoutLeader ? 'it has no leader now' : messageOf(error);
}
