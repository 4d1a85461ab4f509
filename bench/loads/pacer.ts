/**
 * Redirects at a fixed rate whatever the service does: raw sockets, requests written out once, a tick of 2 ms
 * that sends what is due by then. It needs a fifth of what autocannon does, which at 10,000 a second measures
 * its own queue. A connection carries one request at a time; a request that finds none free waits for one, and
 * its latency counts from when it was due, so a stall counts for everyone who came meanwhile.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../../src/platform/system-clock.ts';
import { type LoadRequest, requestBytes } from './requests.ts';

const tickMs = 2;
/** After the last request answers may take this long. */
const lateMsMax = 10_000;
const headEnd = '\r\n\r\n';

export interface Pace {
  readonly port: number;
  readonly requests: readonly LoadRequest[];
  readonly connections: number;
  readonly rate: number;
  readonly seconds: number;
}

export interface Paced {
  readonly sent: number;
  /** From a request's time to its answer. */
  readonly latenciesMs: readonly number[];
}

/** @throws Error for an answer that is no redirect, or that does not come */
export async function pace({ port, requests, connections, rate, seconds }: Pace): Promise<Paced> {
  const texts = requests.map((request) => Buffer.from(requestBytes('GET', request)));
  const latenciesMs: number[] = [];
  const dueMs: number[] = [];
  const free: PacedConnection[] = [];
  let sent = 0;
  const send = (): void => {
    while (dueMs.length > 0 && free.length > 0) {
      free.pop()!.send(texts[sent % texts.length]!, dueMs.shift()!);
      sent += 1;
    }
  };
  const onAnswer = (connection: PacedConnection, sentMs: number): void => {
    latenciesMs.push(systemClock.monotonicMs() - sentMs);
    free.push(connection);
    send();
  };
  const opened = Array.from({ length: connections }, () => new PacedConnection(port, onAnswer));
  await Promise.all(opened.map((connection) => connection.connected));
  free.push(...opened);
  const total = Math.round(rate * seconds);
  const startMs = systemClock.monotonicMs();
  for (let planned = 0; latenciesMs.length < total;) {
    const elapsedMs = systemClock.monotonicMs() - startMs;
    if (elapsedMs > seconds * 1e3 + lateMsMax) throw new Error('Answers do not come');
    const due = Math.min(total, Math.floor((elapsedMs * rate) / 1e3));
    for (; planned < due; planned++) dueMs.push(startMs + (planned * 1e3) / rate);
    send();
    for (const connection of opened) connection.check();
    await wait(tickMs);
  }
  for (const connection of opened) connection.close();
  return { sent, latenciesMs };
}

/** One connection. The redirects have no body: the end of the head is the end of the answer. */
class PacedConnection {
  readonly connected: Promise<unknown>;
  readonly #socket;
  #text = '';
  #sentMs = 0;
  #fault: string | undefined;

  constructor(port: number, onAnswer: (connection: PacedConnection, sentMs: number) => void) {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket = socket.setEncoding('latin1');
    this.connected = once(socket, 'connect');
    socket.on('error', (error) => (this.#fault = error.message));
    socket.on('data', (chunk: string) => {
      this.#text += chunk;
      if (!this.#text.endsWith(headEnd)) return;
      if (!this.#text.startsWith('HTTP/1.1 302')) this.#fault = this.#text;
      this.#text = '';
      onAnswer(this, this.#sentMs);
    });
  }

  send(bytes: Buffer, dueMs: number): void {
    this.#sentMs = dueMs;
    this.#socket.write(bytes);
  }

  /** @throws Error when an answer was wrong */
  check(): void {
    if (this.#fault !== undefined) throw new Error(`Wrong answer: ${this.#fault}`);
  }

  close(): void {
    this.#socket.destroy();
  }
}
