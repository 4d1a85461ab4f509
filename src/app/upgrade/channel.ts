/**
 * Sends and receives messages over a socket, in order. Lines that are not messages are skipped. A line or a queue above
 * its bound ends the connection.
 */
import type { Socket } from 'node:net';
import type { Logger } from '../../platform/log.ts';
import {
  answerLengthMax,
  isOf,
  lineOf,
  type Message,
  type MessageType,
  parseMessage,
} from './messages.ts';

/** Messages that have arrived and are not read yet. */
const receivedMax = 10_000;
/** Twice the longest line: above that, the other side does not read. */
const sentBytesMax = 2 * answerLengthMax;

export class Channel {
  /** Resolves when the connection has ended, by either side. Never rejects. */
  readonly closed: Promise<void>;
  log: Logger | undefined;
  readonly #socket: Socket;
  readonly #lineLengthMax: number;
  #line = '';
  readonly #received: Message[] = [];
  #arrived = Promise.withResolvers<void>();

  /** @param lineLengthMax characters of a received line */
  constructor(socket: Socket, log?: Logger, lineLengthMax = answerLengthMax) {
    this.#socket = socket;
    this.log = log;
    this.#lineLengthMax = lineLengthMax;
    this.closed = new Promise((done) => {
      socket.once('close', () => {
        this.#arrived.resolve();
        done();
      });
    });
    // A 'close' follows.
    socket.on('error', () => undefined);
    socket.setEncoding('utf8').on('data', (text: string) => this.#take(text));
  }

  get isClosed(): boolean {
    return this.#socket.closed;
  }

  /**
   * Waits for the next message of these types and skips others.
   * @returns 'gone' if the connection has ended, 'late' after `msMax`
   */
  async receive<Type extends MessageType>(
    types: readonly Type[],
    msMax?: number,
  ): Promise<Message<Type> | 'gone' | 'late'> {
    let isLate = false;
    const late = (): void => {
      isLate = true;
      this.#arrived.resolve();
    };
    const timer = msMax === undefined ? undefined : setTimeout(late, msMax);
    try {
      for (;;) {
        const message = this.#received.shift();
        if (message !== undefined && isOf(message, types)) return message;
        if (message !== undefined) this.#warn(`${message.type}, expected ${types.join(' or ')}`);
        else if (this.isClosed) return 'gone';
        else if (isLate) return 'late';
        else await (this.#arrived = Promise.withResolvers()).promise;
      }
    } finally {
      clearTimeout(timer);
    }
  }

  send(message: Message): void {
    if (!this.#socket.writable) return;
    this.#socket.write(lineOf(message));
    if (this.#socket.writableLength > sentBytesMax) this.#socket.destroy();
  }

  /** Sends the last message. The other side ends the connection. */
  sendLast(message: Message): void {
    if (this.#socket.writable) this.#socket.end(lineOf(message));
  }

  /** Ends the connection. Unsent messages may be lost. */
  destroy(): void {
    this.#socket.destroy();
  }

  unref(): void {
    this.#socket.unref();
  }

  #take(text: string): void {
    const [head = '', ...lines] = text.split('\n');
    this.#line += head;
    for (const line of lines) {
      const message = parseMessage(this.#line);
      if (message === undefined) this.#warn(`a line of ${this.#line.length} characters`);
      else this.#received.push(message);
      this.#line = line;
    }
    const isTooMuch =
      this.#line.length > this.#lineLengthMax || this.#received.length > receivedMax;
    if (isTooMuch) this.#socket.destroy();
    this.#arrived.resolve();
  }

  #warn(fault: string): void {
    this.log?.warn({ fault }, 'unexpected message from another process');
  }
}
