/**
 * The successor's side of a takeover: its connection to the running service. messages.ts has the order and the rules.
 *
 * Until the predecessor has yielded, any fault makes this side give up. Later this process writes, so it skips a line that it
 * does not understand: ending the connection would make the predecessor write again.
 */
import type { Socket } from 'node:net';
import type { Logger } from '../../telemetry/log.ts';
import { type DataFolder, DataFolderError } from '../data-folder.ts';
import { Channel } from './channel.ts';
import { connectToOwner } from './folder-lock.ts';
import { killOther, pidNamespace } from './kill-other.ts';
import {
  type AcceptedMessage,
  type DataVersions,
  type Limits,
  lineBytesMax,
  parsePredecessorMessage,
  type PredecessorMessage,
  protocol,
  type SuccessorMessage,
  type Tails,
  yieldedBytesMax,
} from './messages.ts';

export interface TakeoverHello {
  readonly release: string;
  readonly dataVersions: DataVersions;
}

type State =
  | 'asking'
  | 'booting'
  | 'yielding'
  | 'yielded'
  | 'listening'
  | 'ended'
  | 'gone'
  | 'over';

export interface PredecessorTimes {
  /** For each answer. A predecessor ends attempts of webhooks for 3 s, and stops shards for 4 s. */
  readonly answerMsMax: number;
  /** From `listening` to its end; then it is killed. It answers open connections for 10 s. */
  readonly endMsMax: number;
}

export const predecessorTimes: PredecessorTimes = { answerMsMax: 20_000, endMsMax: 20_000 };

export class PredecessorConnection {
  /** Called with what it journals while it still answers. */
  onTails: ((tails: Tails) => void) | undefined;
  /** Resolves when its process no longer writes. */
  readonly ended: Promise<void>;
  readonly #ended = Promise.withResolvers<void>();
  readonly #channel: Channel<PredecessorMessage, SuccessorMessage>;
  #log: Logger;
  readonly #times: PredecessorTimes;
  #accepted: AcceptedMessage | undefined;
  #endTimer: NodeJS.Timeout | undefined;
  #state: State = 'asking';
  #failure: DataFolderError | undefined;
  #answer: PromiseWithResolvers<PredecessorMessage | 'gone'> | undefined;
  /** Numbers of link changes: the highest sent, and the highest by which it redirects. */
  #toldLink = 0;
  #followedLink = 0;
  #waiting: Array<{ readonly link: number; readonly done: () => void }> = [];

  private constructor(socket: Socket, log: Logger, times: PredecessorTimes) {
    this.#log = log;
    this.#times = times;
    this.ended = this.#ended.promise;
    this.#channel = new Channel(socket, {
      parse: parsePredecessorMessage,
      lineBytesMax,
      onMessage: (message) => this.#take(message),
      onFault: (fault) => this.#fault(fault),
    });
    void this.#channel.closed.then(() => this.#onClosed());
  }

  /**
   * @returns undefined if no service runs on this folder, or it has ended without an answer
   * @throws DataFolderError with the reason if it refuses, or does not answer in time
   */
  static async find(
    folder: DataFolder,
    hello: TakeoverHello,
    log: Logger,
    times = predecessorTimes,
  ): Promise<PredecessorConnection | undefined> {
    const socket = await connectToOwner(folder, 'take over');
    if (socket === undefined) return undefined;
    const predecessor = new PredecessorConnection(socket, log, times);
    const { release, dataVersions } = hello;
    const answer = await predecessor.#ask({
      type: 'takeover',
      protocol,
      release,
      dataVersions,
      pid: process.pid,
      pidNamespace: pidNamespace(),
    });
    return answer === 'gone' ? undefined : predecessor;
  }

  get journals(): readonly number[] {
    return this.#accepted?.journals ?? [];
  }

  get ports(): readonly number[] {
    return this.#accepted?.ports ?? [];
  }

  /** Its process may still write journals, for open connections. */
  get isWriting(): boolean {
    return this.#state !== 'ended' && this.#state !== 'gone';
  }

  /** Its process has ended without `ended`. */
  get isGone(): boolean {
    return this.#state === 'gone';
  }

  /**
   * This process is booted. Resolves when the other one has yielded, or is gone.
   * @throws DataFolderError if it refuses or takes too long: it continues
   */
  async yield(): Promise<{ readonly limits: Limits; readonly tails: Tails } | 'gone'> {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#state === 'gone') return 'gone';
    this.#expect('booting');
    this.#state = 'yielding';
    const answer = await this.#ask({ type: 'ready' });
    if (answer === 'gone') return 'gone';
    if (answer.type !== 'yielded') throw new Error(`yielded with ${answer.type}`);
    return { limits: answer.limits, tails: answer.tails };
  }

  /** This process redirects, and its API answers. */
  listening(): void {
    if (this.#state === 'gone') return;
    this.#expect('yielded');
    this.#state = 'listening';
    this.#channel.send({ type: 'listening' });
    this.#endTimer = setTimeout(() => this.#onLate(), this.#times.endMsMax);
    this.#endTimer.unref();
  }

  /** Resolves when the other one redirects by every link change up to this number, or has ended. */
  async followed(link: number): Promise<void> {
    if (this.#isOver() || link <= this.#followedLink) return;
    if (this.#state !== 'listening') this.#expect('yielded');
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ link, done: resolve });
    if (link > this.#toldLink) {
      this.#toldLink = link;
      this.#channel.send({ type: 'changed', link });
    }
    await promise;
  }

  /** Gives up: this process no longer writes, and the other one continues. */
  close(): void {
    if (this.#state !== 'ended' && this.#state !== 'gone') this.#state = 'over';
    this.#channel.destroy();
  }

  #isOver(): boolean {
    return this.#state === 'ended' || this.#state === 'gone' || this.#state === 'over';
  }

  #expect(state: State): void {
    if (this.#state !== state) throw new Error(`takeover is ${this.#state}, expected ${state}`);
  }

  async #ask(message: SuccessorMessage): Promise<PredecessorMessage | 'gone'> {
    this.#answer = Promise.withResolvers();
    const { answerMsMax } = this.#times;
    const timer = setTimeout(() => {
      const seconds = answerMsMax / 1_000;
      this.#fail(`the running service did not answer within ${seconds} s; it goes on`);
    }, answerMsMax);
    this.#channel.send(message);
    try {
      return await this.#answer.promise;
    } finally {
      clearTimeout(timer);
    }
  }

  #take(message: PredecessorMessage): void {
    const { type } = message;
    switch (this.#state) {
      case 'asking':
        if (type === 'refused') return this.#failWith(new DataFolderError(message.reason));
        if (type !== 'accepted') break;
        this.#accepted = message;
        this.#log = this.#log.child({ pid: message.pid, release: message.release });
        this.#log.info('takeover started, booting beside the predecessor');
        this.#channel.lineBytesMax = yieldedBytesMax;
        return this.#answered('booting', message);
      case 'yielding':
        if (type === 'refused') return this.#failWith(new DataFolderError(message.reason));
        if (type === 'yielded') return this.#answered('yielded', message);
        break;
      case 'yielded':
        if (type === 'followed') return this.#follow(message.link);
        break;
      case 'listening':
        if (type === 'followed') return this.#follow(message.link);
        if (type === 'tails') return this.onTails?.(message.tails);
        if (type === 'ended') return this.#end(message);
        break;
      default:
    }
    this.#fault(`"${type}" while ${this.#state}`);
  }

  #answered(next: State, message: PredecessorMessage): void {
    this.#state = next;
    this.#answer?.resolve(message);
  }

  #follow(link: number): void {
    this.#followedLink = Math.max(this.#followedLink, link);
    const followed = this.#waiting.filter((waiting) => waiting.link <= this.#followedLink);
    this.#waiting = this.#waiting.filter((waiting) => waiting.link > this.#followedLink);
    for (const { done } of followed) done();
  }

  #end({ tails, lostScans }: { readonly tails: Tails; readonly lostScans: number }): void {
    this.#log.info({ lostScans }, 'the predecessor has ended');
    this.#state = 'ended';
    this.onTails?.(tails);
    this.#settle();
    this.#channel.sendLast({ type: 'understood' });
  }

  #fault(fault: string): void {
    if (this.#isOver()) return;
    if (this.#state === 'yielded' || this.#state === 'listening') {
      this.#log.error({ fault }, 'a message of the predecessor was skipped');
      return;
    }
    this.#log.error({ fault }, 'the takeover failed, the predecessor goes on');
    this.#fail(`the running service answered what this release does not know (${fault})`);
  }

  #fail(reason: string): void {
    this.#failWith(new DataFolderError(`Cannot take over: ${reason}`));
  }

  #failWith(error: DataFolderError): void {
    this.#state = 'over';
    this.#failure = error;
    this.#channel.destroy();
    this.#answer?.reject(error);
    this.#answer = undefined;
  }

  /** It hangs, and would redirect by old links. */
  #onLate(): void {
    this.#log.error('the predecessor did not end in time');
    killOther('predecessor', this.#accepted?.pid ?? 0, this.#log);
  }

  #onClosed(): void {
    if (!this.#isOver()) {
      if (this.#state !== 'asking') {
        this.#log.warn({ state: this.#state }, 'the predecessor is gone');
      }
      this.#state = 'gone';
      this.#answer?.resolve('gone');
    }
    this.#settle();
  }

  #settle(): void {
    clearTimeout(this.#endTimer);
    this.#follow(Number.MAX_SAFE_INTEGER);
    this.#ended.resolve();
  }
}
