/**
 * The scanning side of the load: many keep-alive connections, each a person's phone or a bot behind a
 * proxy that names it in X-Forwarded-For. Requests go out at a steady rate, one at
 * a time on a connection (uWebSockets.js ends a connection that pipelines into an answer that waits for its
 * turn to end); a connection that breaks is opened again, so scanning begins as soon as a restarted service listens.
 */
import { connect, type Socket } from 'node:net';
import { agents, botAgent, type Kind, type Ledger, refererOf, type Scan } from './ledger.ts';
import type { Random } from './random.ts';

const tickMs = 4;
const reconnectMs = 20;
const botShare = 0.1;
const returningShare = 0.3;
/** First octets of visitors' addresses: none of them loopback or trusted. */
const firstOctet = 128;
const firstOctets = 90;

/** Where scans are taken down, and their answers. */
export type ScanLedger = Pick<Ledger, 'codes' | 'scans' | 'send' | 'receive'>;

export interface ScannersOptions {
  readonly port: number;
  readonly ledger: ScanLedger;
  readonly random: Random;
  readonly connections: number;
  readonly perSecond: number;
  /** `evenly`: none is idle for long. Default: the first that is free, and others are idle where those are enough. */
  readonly use?: 'first free' | 'evenly';
}

export class Scanners {
  readonly #options: ScannersOptions;
  readonly #connections: ScanConnection[];
  readonly #timer: NodeJS.Timeout;
  readonly #startedMs = performance.now();
  #sent = 0;
  #isStopping = false;
  /** Milliseconds from the start of the load to its first answer. */
  firstAnswerMs: number | undefined;

  constructor(options: ScannersOptions) {
    this.#options = options;
    this.#connections = Array.from(
      { length: options.connections },
      () =>
        new ScanConnection(options.port, (scan, status, location) => {
          this.firstAnswerMs ??= performance.now() - this.#startedMs;
          options.ledger.receive(scan, status, location);
        }),
    );
    this.#timer = setInterval(() => this.#tick(), tickMs);
  }

  /** Sends no more, waits for what is in flight at most `msMax`. @returns how many got none */
  async finish(msMax: number): Promise<number> {
    this.#isStopping = true;
    clearInterval(this.#timer);
    const deadlineMs = performance.now() + msMax;
    while (this.#connections.some(({ waiting }) => waiting > 0)) {
      if (performance.now() > deadlineMs) break;
      await new Promise((resolve) => setTimeout(resolve, tickMs));
    }
    const unanswered = this.#connections.reduce((sum, { waiting }) => sum + waiting, 0);
    this.drop();
    return unanswered + this.broken;
  }

  /** Requests whose connection broke before their answers came. */
  get broken(): number {
    return this.#connections.reduce((sum, connection) => sum + connection.broken, 0);
  }

  /** Closes every connection now. */
  drop(): void {
    this.#isStopping = true;
    clearInterval(this.#timer);
    for (const connection of this.#connections) connection.close();
  }

  #tick(): void {
    if (this.#isStopping) return;
    const open = this.#connections.filter(({ isOpen }) => isOpen);
    const due = ((performance.now() - this.#startedMs) / 1_000) * this.#options.perSecond;
    const capacity = open.length;
    if (open.length === 0 || due - this.#sent > capacity) this.#sent = Math.floor(due - capacity);
    for (const connection of open) {
      if (connection.waiting === 0 && this.#sent < due) {
        const scan = nextScan(this.#options.ledger, this.#options.random);
        if (scan === undefined) return;
        this.#sent++;
        connection.send(scan);
        if (this.#options.use === 'evenly') this.#moveBack(connection);
      }
    }
  }

  /** The next scans go to the others. */
  #moveBack(connection: ScanConnection): void {
    this.#connections.splice(this.#connections.indexOf(connection), 1);
    this.#connections.push(connection);
  }
}

/** Chooses a code that may be asked for, mostly a live one, and who scans it. */
export function nextScan(ledger: Omit<ScanLedger, 'receive'>, random: Random): Scan | undefined {
  const askable = ledger.codes.slice(-codesInPlay).filter(({ state }) => state !== 'creating');
  if (askable.length === 0) return undefined;
  const code = random.pick(askable);
  const isReturning = ledger.scans > 0 && random.chance(returningShare);
  const visitor = isReturning ? random.between(0, ledger.scans) : ledger.scans;
  const kind: Kind = random.chance(botShare) ? 'bot' : agentOf(visitor).platform;
  return ledger.send(code, kind, visitor);
}

/** Only the newest codes are scanned: each gets enough scans for its sums to mean something. */
const codesInPlay = 40;

export const agentOf = (visitor: number) => agents[visitor % agents.length] ?? agents[0];

export function addressOf(visitor: number): string {
  const rest = Math.floor(visitor / firstOctets);
  const low = [(rest >> 16) & 255, (rest >> 8) & 255, rest & 255].join('.');
  return `${firstOctet + (visitor % firstOctets)}.${low}`;
}

export function requestOf(
  { number, code, kind, visitor }: Scan,
  connection: 'keep-alive' | 'close' = 'keep-alive',
): string {
  const agent = kind === 'bot' ? botAgent : agentOf(visitor).text;
  return requestText({ path: code.path, visitor, agent, referer: refererOf(number), connection });
}

export interface Request {
  readonly path: string;
  readonly visitor: number;
  readonly agent: string;
  readonly referer: string;
  readonly connection: 'keep-alive' | 'close';
}

export function requestText({ path, visitor, agent, referer, connection }: Request): string {
  return (
    `GET ${path} HTTP/1.1\r\nHost: q\r\nX-Forwarded-For: ${addressOf(visitor)}\r\n` +
    `User-Agent: ${agent}\r\nReferer: ${referer}\r\n` +
    (connection === 'close' ? 'Connection: close\r\n\r\n' : '\r\n')
  );
}

class ScanConnection {
  readonly #port: number;
  readonly #onAnswer: (scan: Scan, status: number, location: string) => void;
  readonly #waiting: Scan[] = [];
  /** Sent to a new connection: another process has taken over. */
  readonly #again: Scan[] = [];
  #socket: Socket | undefined;
  #text = '';
  #isClosed = false;
  isOpen = false;
  broken = 0;

  constructor(port: number, onAnswer: (scan: Scan, status: number, location: string) => void) {
    this.#port = port;
    this.#onAnswer = onAnswer;
    this.#open();
  }

  get waiting(): number {
    return this.#waiting.length + this.#again.length;
  }

  send(scan: Scan): void {
    this.#waiting.push(scan);
    this.#socket?.write(requestOf(scan));
  }

  close(): void {
    this.#isClosed = true;
    this.#socket?.destroy();
  }

  #open(): void {
    const socket = connect(this.#port, '127.0.0.1');
    this.#socket = socket;
    this.#text = '';
    socket.setNoDelay(true);
    socket.on('connect', () => {
      this.isOpen = true;
      for (const scan of this.#again.splice(0)) this.send(scan);
    });
    socket.on('data', (bytes) => this.#take(bytes.toString('latin1')));
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.isOpen = false;
      this.broken += this.#waiting.length;
      this.#waiting.length = 0;
      if (!this.#isClosed) setTimeout(() => this.#isClosed || this.#open(), reconnectMs);
    });
  }

  /** Answers come in the order of their requests; one that is not complete waits for the rest. */
  #take(text: string): void {
    this.#text += text;
    for (;;) {
      const answer = parseAnswer(this.#text);
      if (answer === undefined) return;
      const { head, end, status, location } = answer;
      this.#text = this.#text.slice(end);
      const scan = this.#waiting.shift();
      if (scan === undefined) throw new Error(`An answer to no request: ${head}`);
      if (location === scan.code.path) this.#again.push(scan);
      else this.#onAnswer(scan, status, location);
      if (/^connection: close/im.test(head)) this.isOpen = false;
    }
  }
}

/** The first answer in a text; undefined while it is not complete. */
export function parseAnswer(text: string) {
  const headEnd = text.indexOf('\r\n\r\n');
  if (headEnd === -1) return undefined;
  const head = text.slice(0, headEnd);
  const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
  const end = headEnd + 4 + length;
  if (text.length < end) return undefined;
  const location = /^location: (.*)$/im.exec(head)?.[1] ?? '';
  return { head, end, status: Number(head.slice(9, 12)), location };
}
