/**
 * Lines of JSON over a socket, both ways and in order. The owner handles faults: a line that is no message, or is too long.
 * A line is bounded by `lineBytesMax`; the rest of a longer one is dropped. What waits to be sent is bounded by
 * `queueBytesMax`: if the other side does not read, the connection ends.
 */
import type { Socket } from 'node:net';
import {
  lineBytesMax,
  lineOf,
  parsePredecessorMessage,
  type PredecessorMessage,
  type SuccessorMessage,
} from './messages.ts';

export interface ChannelOptions<Received> {
  readonly parse: (line: string) => Received | undefined;
  readonly lineBytesMax: number;
  readonly onMessage: (message: Received) => void;
  readonly onFault: (fault: string) => void;
}

/** Two of the longest lines. */
const queueBytesMax = 134_217_728;
const lineEnd = 10;

export class Channel<Received, Sent extends SuccessorMessage | PredecessorMessage> {
  lineBytesMax: number;
  /** Resolves when the connection has ended, by either side. Never rejects. */
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  readonly #options: ChannelOptions<Received>;
  #isClosed = false;
  #parts: Buffer[] = [];
  #bytes = 0;
  #isDropping = false;

  constructor(socket: Socket, options: ChannelOptions<Received>) {
    this.#socket = socket;
    this.#options = options;
    this.lineBytesMax = options.lineBytesMax;
    this.closed = new Promise((done) => {
      socket.once('close', () => {
        this.#isClosed = true;
        done();
      });
    });
    // A 'close' comes after it.
    socket.on('error', () => undefined);
    socket.on('data', (data: Buffer) => this.#take(data));
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  send(message: Sent): void {
    if (!this.#socket.writable) return;
    this.#socket.write(lineOf(message));
    if (this.#socket.writableLength > queueBytesMax) this.#socket.destroy();
  }

  /** Sends the last message. The other side ends the connection. */
  sendLast(message: Sent): void {
    if (this.#socket.writable) this.#socket.end(lineOf(message));
  }

  /** Ends the connection. Unsent messages may be lost. */
  destroy(): void {
    this.#socket.destroy();
  }

  unref(): void {
    this.#socket.unref();
  }

  #take(data: Buffer): void {
    let rest = data;
    for (;;) {
      const end = rest.indexOf(lineEnd);
      this.#add(end < 0 ? rest : rest.subarray(0, end));
      if (end < 0 || this.#socket.destroyed) return;
      this.#endLine();
      rest = rest.subarray(end + 1);
    }
  }

  #add(part: Buffer): void {
    if (this.#isDropping) return;
    this.#bytes += part.length;
    if (this.#bytes <= this.lineBytesMax) {
      this.#parts.push(part);
      return;
    }
    this.#isDropping = true;
    this.#parts = [];
    this.#options.onFault(`a line of more than ${this.lineBytesMax} bytes`);
  }

  #endLine(): void {
    const isDropped = this.#isDropping;
    const line = Buffer.concat(this.#parts).toString();
    this.#parts = [];
    this.#bytes = 0;
    this.#isDropping = false;
    if (isDropped) return;
    const message = this.#options.parse(line);
    if (message === undefined) this.#options.onFault(`no message, of ${line.length} characters`);
    else this.#options.onMessage(message);
  }
}

/** A folder's owner answers at once, however busy. A later one hangs. */
export const answerMsMax = 10_000;

/**
 * Asks a folder's owner one question. The caller ends the connection.
 * @returns 'late' without an answer in time; undefined if the connection ends without a known answer
 */
export async function askOwner(
  socket: Socket,
  question: SuccessorMessage,
): Promise<PredecessorMessage | 'late' | undefined> {
  const { promise, resolve } = Promise.withResolvers<PredecessorMessage | 'late' | undefined>();
  const channel = new Channel<PredecessorMessage, SuccessorMessage>(socket, {
    parse: parsePredecessorMessage,
    lineBytesMax,
    onMessage: resolve,
    onFault: () => resolve(undefined),
  });
  void channel.closed.then(() => resolve(undefined));
  const late = setTimeout(() => resolve('late'), answerMsMax);
  channel.send(question);
  const answer = await promise;
  clearTimeout(late);
  return answer;
}
