/**
 * The scanning side of the load: requests at a steady rate, however slow the answers are, either each on a connection
 * of its own or on connections that are kept. A kept one carries one request at a time (uWebSockets.js ends a connection
 * that pipelines into an answer that waits for its turn to end) and is opened again when it breaks, so scanning begins as
 * soon as a service listens. Each scan has an answer or one of these outcomes:
 *
 *   refused      nobody listened                    redirect loop  redirected to itself too often
 *   reset        closed without an answer           local error    of the generator: no port, no descriptor
 *   timed out    no answer within ten seconds, on a connection of its own
 *
 * A redirect to its own path is followed on a new connection: a process that has handed over a code with a scan limit
 * answers so, until the connection reaches the process that counts against the limit.
 */
import { connect, type Socket } from 'node:net';
import { pause } from '../support/process.ts';
import type { Random } from './random.ts';
import { type Asked, headersOf, type View } from './view.ts';

type Fault = keyof Phones['faults'];

export interface PhonesOptions {
  readonly port: number;
  readonly view: View;
  readonly random: Random;
  readonly perSecond: number;
  /** `new`: one for each scan. */
  readonly connections: number | 'new';
  /** Scans take the first kept connection that is free, so that others stay idle. */
  readonly isMostlyIdle?: boolean;
}

const tickMs = { new: 1, kept: 4 };
const reconnectMs = 20;
const answerMsMax = 10_000;
const selfRedirectsMax = 200;
/** New connections of one tick: a stall of the generator is no reason for a burst. */
const burstMax = 20;

export class Phones {
  readonly #options: PhonesOptions;
  readonly view: View;
  readonly #timer: NodeJS.Timeout;
  readonly #startedMs = performance.now();
  /** Sent, or due when nothing could be sent. */
  #due = 0;
  #inFlight = 0;
  #isClosed = false;
  /** Those that are kept, the next to be used first. */
  #kept: Line[] = [];
  readonly #single = new Set<Line>();
  readonly faults = { refused: 0, reset: 0, 'timed out': 0, 'redirect loop': 0, 'local error': 0 };
  /** Requests in flight that got no answer before the end. */
  late = 0;

  constructor(options: PhonesOptions) {
    this.#options = options;
    this.view = options.view;
    const { connections } = options;
    if (connections !== 'new') for (let left = connections; left > 0; left--) this.#keep();
    this.#timer = setInterval(() => this.#tick(), tickMs[connections === 'new' ? 'new' : 'kept']);
  }

  /** Requests without an answer. */
  get unanswered(): number {
    return Object.values(this.faults).reduce((sum, count) => sum + count, this.late);
  }

  /** Sends no more, waits for what is in flight at most `msMax`. */
  async finish(msMax: number): Promise<void> {
    clearInterval(this.#timer);
    const deadlineMs = performance.now() + msMax;
    while (this.#inFlight > 0 && performance.now() < deadlineMs) await pause(tickMs.kept);
    this.late = this.#inFlight;
    this.view.broken += this.late;
    this.drop();
  }

  /** Closes every connection now. */
  drop(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    for (const line of [...this.#kept, ...this.#single]) line.close();
  }

  #tick(): void {
    const { view, random, connections, perSecond, isMostlyIdle } = this.#options;
    const elapsedMs = performance.now() - this.#startedMs;
    const due = Math.floor((elapsedMs * perSecond) / 1_000) - this.#due;
    this.#due += due;
    const free = this.#kept.filter(({ isFree }) => isFree);
    const count = Math.min(due, connections === 'new' ? burstMax : free.length);
    for (let at = 0; at < count; at++) {
      const asked = view.draw(random);
      if (asked === undefined) return;
      this.#inFlight++;
      if (connections === 'new') this.#sendAlone(asked);
      else free[at]!.ask(requestOf(asked, 'keep-alive'), (end) => this.#ended(asked, end));
    }
    if (isMostlyIdle === true) return;
    const used = new Set(free.slice(0, count));
    this.#kept = [...this.#kept.filter((line) => !used.has(line)), ...used];
  }

  #sendAlone(asked: Asked, selfRedirects = 0): void {
    const line = new Line(this.#options.port, () => this.#single.delete(line));
    this.#single.add(line);
    line.endIn(answerMsMax);
    line.ask(requestOf(asked, 'close'), (end) => {
      line.close();
      this.#ended(asked, end, selfRedirects);
    });
  }

  #ended(asked: Asked, end: Answer | Fault, selfRedirects = 0): void {
    if (this.#isClosed) return;
    const { view } = this;
    const { path } = asked.scan.code;
    const isSelfRedirect = typeof end === 'object' && end.status === 302 && end.location === path;
    if (isSelfRedirect && selfRedirects < selfRedirectsMax) {
      return this.#sendAlone(asked, selfRedirects + 1);
    }
    this.#inFlight--;
    if (isSelfRedirect) view.ledger.note(`${path} redirects to itself, always`);
    if (typeof end === 'string' || isSelfRedirect) {
      this.faults[typeof end === 'string' ? end : 'redirect loop']++;
      return view.broke(asked);
    }
    view.receive(asked, end.status, end.location);
  }

  #keep(): void {
    const line = new Line(this.#options.port, () => {
      this.#kept.splice(this.#kept.indexOf(line), 1);
      setTimeout(() => this.#isClosed || this.#keep(), reconnectMs);
    });
    this.#kept.push(line);
  }
}

type Answer = NonNullable<ReturnType<typeof parseAnswer>>;

/** One connection, with one request at a time. */
class Line {
  readonly #socket: Socket;
  #received = '';
  #isOpen = false;
  #fault: Fault = 'reset';
  #onEnd: ((end: Answer | Fault) => void) | undefined;

  constructor(port: number, onClose: () => void) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.setEncoding('latin1');
    this.#socket.on('connect', () => (this.#isOpen = true));
    this.#socket.on('data', (text: string) => this.#take(text));
    this.#socket.on('error', (error) => {
      const code = 'code' in error ? error.code : '';
      if (code === 'ECONNREFUSED') this.#fault = 'refused';
      else if (code !== 'ECONNRESET' && code !== 'EPIPE') this.#fault = 'local error';
    });
    this.#socket.on('close', () => {
      this.#isOpen = false;
      this.#end(this.#fault);
      onClose();
    });
  }

  get isFree(): boolean {
    return this.#isOpen && this.#onEnd === undefined;
  }

  endIn(msMax: number): void {
    this.#socket.setTimeout(msMax, () => this.#end('timed out'));
  }

  ask(request: string, onEnd: (end: Answer | Fault) => void): void {
    this.#onEnd = onEnd;
    this.#socket.write(request);
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(text: string): void {
    this.#received += text;
    const answer = parseAnswer(this.#received);
    if (answer === undefined) return;
    if (this.#onEnd === undefined) throw new Error(`An answer to no request: ${answer.head}`);
    this.#received = this.#received.slice(answer.end);
    if (/^connection: close/im.test(answer.head)) this.#isOpen = false;
    this.#end(answer);
  }

  #end(end: Answer | Fault): void {
    const onEnd = this.#onEnd;
    this.#onEnd = undefined;
    onEnd?.(end);
  }
}

function requestOf({ scan }: Asked, connection: 'keep-alive' | 'close'): string {
  const headers = { host: 'q', connection, ...headersOf(scan) };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `GET ${scan.code.path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/** The first answer in a text; undefined while it is not complete. */
function parseAnswer(text: string) {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const head = text.slice(0, headEnd);
  const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
  const end = headEnd + 4 + length;
  if (text.length < end) return undefined;
  const location = /^location: (.*)$/im.exec(head)?.[1] ?? '';
  return { head, end, status: Number(head.slice(9, 12)), location };
}
