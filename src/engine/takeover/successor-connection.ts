/**
 * The running service's side of a takeover: a connection from a successor. messages.ts has the order and the rules.
 *
 * From `ready` on the successor may write, so this side takes back only once the connection has ended; it kills a successor
 * that hangs or faults. The host's steps never overlap, except that `takeBack` may begin while `finish` is under way.
 */
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../model/failure.ts';
import type { Clock } from '../../model/clock.ts';
import type { Logger } from '../../telemetry/log.ts';
import { Channel } from './channel.ts';
import { killOther } from './kill-other.ts';
import {
  commandBytesMax,
  type CommandMessage,
  type DataVersions,
  type Limits,
  lineBytesMax,
  type OpenMessage,
  parseSuccessorMessage,
  type PredecessorMessage,
  protocol,
  type SuccessorMessage,
  type TakeoverMessage,
  type Tails,
} from './messages.ts';

/** What the running service does for a successor. */
export interface TakeoverHost {
  readonly release: string;
  readonly dataVersions: DataVersions;
  readonly journals: readonly number[];
  readonly ports: readonly number[];
  /** Undefined = a takeover may begin; else why not, as the end of "Cannot take over: …". */
  readonly refusal: string | undefined;
  yield(): Promise<{ readonly limits: Limits; readonly tails: Tails }>;
  tails(): Tails;
  /** Stops listening and ends all. Resolves when nothing is written any more. */
  finish(): Promise<{ readonly tails: Tails; readonly lostScans: number }>;
  /**
   * The successor is gone: serves as before. Called after `yield`, also one that failed, or while `finish` is under way.
   * If it fails, the rejection is unhandled and ends the process.
   */
  takeBack(): Promise<void>;
  /** Brings link changes up to this number into the own link table. */
  follow(link: number): Promise<void>;
  /** The process may exit with 0. */
  ended(): void;
}

export type SuccessorChannel = Channel<SuccessorMessage, PredecessorMessage>;

interface SuccessorOptions {
  readonly host: TakeoverHost;
  readonly clock: Clock;
  readonly log: Logger;
  readonly times: TakeoverTimes;
  /** @returns why it may not take over */
  readonly admit: (successor: SuccessorConnection, hello: TakeoverMessage) => string | undefined;
  readonly onCommand: (channel: SuccessorChannel, message: CommandMessage) => void;
  /** Another process, which opens the data files. */
  readonly onOpen: (channel: SuccessorChannel, message: OpenMessage) => void;
  /** Resolves when no command runs and no process opens the data files, and none does so until `onOver`. */
  readonly beforeYield: () => Promise<void>;
  readonly onOver: (successor: SuccessorConnection) => void;
}

export interface TakeoverTimes {
  /** From its connection to its first message. */
  readonly askMsMax: number;
  /** From `yielded` to `listening`; then it is killed. */
  readonly listenMsMax: number;
  readonly tailsEveryMs: number;
  /** From `held` until a process has opened the data files, which takes a millisecond; then it is killed. */
  readonly openMsMax: number;
  /** For the answer to the last message, or the end of the connection after it. */
  readonly lastMsMax: number;
}

type State =
  | 'asked'
  | 'accepted'
  | 'yielding'
  | 'yielded'
  | 'finishing'
  | 'ended'
  | 'stopping'
  | 'over';

export class SuccessorConnection {
  readonly #options: SuccessorOptions;
  readonly #channel: SuccessorChannel;
  #log: Logger;
  #state: State = 'asked';
  #pid = 0;
  #timer: NodeJS.Timeout | undefined;
  #tails: NodeJS.Timeout | undefined;
  #toldTails = '';
  #wantedLink = 0;
  #followedLink = 0;
  #isFollowing = false;
  readonly #understood = Promise.withResolvers<void>();

  constructor(socket: Socket, options: SuccessorOptions) {
    this.#options = options;
    this.#log = options.log;
    this.#channel = new Channel(socket, {
      parse: parseSuccessorMessage,
      lineBytesMax: commandBytesMax,
      onMessage: (message) => this.#take(message),
      onFault: (fault) => this.#fault(fault),
    });
    void this.#channel.closed.then(() => this.#onClosed());
    this.#timer = setTimeout(() => this.#fault('silence'), options.times.askMsMax);
    this.#timer.unref();
  }

  get pid(): number {
    return this.#pid;
  }

  /** The service stops. The end of the process ends the connection. */
  stop(): void {
    // The host closes while it finishes: this is the takeover's own end.
    if (this.#state === 'finishing' || this.#state === 'ended') return;
    const isOpen = this.#state !== 'asked' && this.#state !== 'over';
    this.#state = 'stopping';
    this.#stopTimers();
    if (isOpen) this.#channel.unref();
    else this.#channel.destroy();
  }

  #take(message: SuccessorMessage): void {
    const { type } = message;
    switch (this.#state) {
      case 'asked':
        if (type === 'takeover') return this.#meet(message);
        if (type === 'command') return this.#command(message);
        if (type === 'open') return this.#open(message);
        if (type === 'status') return this.#sayRunning();
        if (type !== 'other protocol') break;
        return this.#refuse(
          `this release knows protocol ${message.protocol} of takeovers, the running one ${protocol}; stop it, then start this one`,
        );
      case 'accepted':
        if (type === 'ready') return void this.#yield();
        break;
      case 'yielded':
        if (type === 'listening') return void this.#finish();
        if (type === 'changed') return this.#follow(message.link);
        break;
      case 'finishing':
        if (type === 'changed') return this.#follow(message.link);
        break;
      case 'ended':
        if (type === 'understood') this.#understood.resolve();
        return;
      default:
    }
    this.#fault(`"${type}" while ${this.#state}`);
  }

  #command(message: CommandMessage): void {
    this.#over();
    this.#options.onCommand(this.#channel, message);
  }

  #open(message: OpenMessage): void {
    this.#over();
    this.#options.onOpen(this.#channel, message);
  }

  #sayRunning(): void {
    this.#over();
    void this.#sendLast({ type: 'running' });
  }

  #meet(hello: TakeoverMessage): void {
    const { host, admit, log } = this.#options;
    const { pid, release } = hello;
    this.#channel.lineBytesMax = lineBytesMax;
    this.#pid = pid;
    this.#log = log.child({ pid, release });
    const refusal = admit(this, hello);
    if (refusal !== undefined) return this.#refuse(refusal);
    this.#stopTimers();
    this.#state = 'accepted';
    this.#log.info('a successor is booting');
    const { release: own, journals, ports } = host;
    this.#channel.send({ type: 'accepted', release: own, pid: process.pid, journals, ports });
  }

  #refuse(refusal: string): void {
    this.#log.warn({ refusal }, 'a takeover was refused');
    this.#over();
    void this.#sendRefusal(refusal);
  }

  async #yield(): Promise<void> {
    const { host, clock, times, beforeYield } = this.#options;
    this.#state = 'yielding';
    this.#log.info('the successor is ready, yielding to it');
    const beganMs = clock.monotonicMs();
    let yielded: { readonly limits: Limits; readonly tails: Tails };
    try {
      await beforeYield();
      yielded = await host.yield();
    } catch (err) {
      if (this.#state === 'yielding') await this.#failYield(err);
      return;
    }
    if (this.#state !== 'yielding') return;
    if (this.#channel.isClosed) return this.#takeBack();
    this.#state = 'yielded';
    const { limits, tails } = yielded;
    this.#channel.send({ type: 'yielded', limits, tails });
    this.#log.info({ ms: this.#since(beganMs) }, 'yielded to the successor');
    this.#timer = setTimeout(() => {
      this.#log.error('the successor did not listen in time');
      killOther('successor', this.#pid, this.#log);
    }, times.listenMsMax);
  }

  async #failYield(err: unknown): Promise<void> {
    this.#log.error({ err }, 'yielding failed, the takeover is refused');
    const text = messageOf(err);
    void this.#sendRefusal(`the running service could not yield (${text.slice(0, 500)})`);
    await this.#takeBack();
  }

  async #finish(): Promise<void> {
    const { host, clock, times } = this.#options;
    this.#state = 'finishing';
    this.#stopTimers();
    this.#log.info('the successor listens, finishing');
    const beganMs = clock.monotonicMs();
    this.#tails = setInterval(() => this.#tellTails(), times.tailsEveryMs);
    this.#tellTails();
    let finished: { readonly tails: Tails; readonly lostScans: number } | undefined;
    try {
      finished = await host.finish();
    } catch (err) {
      // The successor serves: the end of this process tells it the rest.
      this.#log.error({ err }, 'finishing for the successor failed');
    }
    if (!this.#isFinishing()) return;
    this.#stopTimers();
    this.#state = 'ended';
    if (finished !== undefined) {
      const { tails, lostScans } = finished;
      this.#channel.send({ type: 'ended', tails, lostScans });
      if (!(await this.#isUnderstood())) return await this.#takeBack();
      this.#log.info({ ms: this.#since(beganMs), lostScans }, 'the successor has taken over');
    }
    host.ended();
  }

  #isFinishing(): boolean {
    return this.#state === 'finishing';
  }

  #tellTails(): void {
    if (!this.#channel.isIdle) return;
    const tails = this.#options.host.tails();
    const text = JSON.stringify(tails);
    if (text === this.#toldTails) return;
    this.#toldTails = text;
    this.#channel.send({ type: 'tails', tails });
  }

  #follow(link: number): void {
    this.#wantedLink = Math.max(this.#wantedLink, link);
    if (link <= this.#followedLink) this.#channel.send({ type: 'followed', link });
    else if (!this.#isFollowing) void this.#followAll();
  }

  async #followAll(): Promise<void> {
    this.#isFollowing = true;
    try {
      while (this.#followedLink < this.#wantedLink) {
        const link = this.#wantedLink;
        await this.#options.host.follow(link);
        this.#followedLink = link;
        this.#channel.send({ type: 'followed', link });
      }
    } catch (err) {
      this.#log.error({ err }, 'a link change of the successor was not followed');
    } finally {
      this.#isFollowing = false;
    }
  }

  #fault(fault: string): void {
    switch (this.#state) {
      case 'asked':
      case 'accepted':
        this.#log.warn({ fault }, 'the connection of a successor was ended');
        this.#over();
        return this.#channel.destroy();
      case 'yielding':
      case 'yielded':
      case 'finishing':
        this.#log.error({ fault }, 'the successor said what it should not');
        return killOther('successor', this.#pid, this.#log);
      default:
    }
  }

  #onClosed(): void {
    switch (this.#state) {
      case 'accepted':
        this.#log.warn('the successor is gone');
        return this.#over();
      case 'asked':
        return this.#over();
      case 'yielded':
      case 'finishing':
        return void this.#takeBack();
      default:
    }
  }

  /** Once, and never during the host's `yield`. */
  async #takeBack(): Promise<void> {
    const beganMs = this.#options.clock.monotonicMs();
    this.#state = 'over';
    this.#stopTimers();
    this.#log.warn('taking back from the successor');
    await this.#options.host.takeBack();
    this.#log.warn(
      { ms: this.#since(beganMs) },
      'taken back from the successor, serving as before',
    );
    this.#over();
  }

  #sendRefusal(refusal: string): Promise<void> {
    return this.#sendLast({ type: 'refused', reason: `Cannot take over: ${refusal}` });
  }

  async #sendLast(message: PredecessorMessage): Promise<void> {
    this.#channel.sendLast(message);
    await this.#inTime(this.#channel.closed.then(() => false));
  }

  /** Whether the successor continues alone: it says so, or is connected and late. */
  async #isUnderstood(): Promise<boolean> {
    const answered = this.#understood.promise.then(() => true);
    return await this.#inTime(Promise.race([answered, this.#channel.closed.then(() => false)]));
  }

  /** Then destroys the connection. @returns the outcome, or true if it takes too long */
  async #inTime(outcome: Promise<boolean>): Promise<boolean> {
    const waiting = new AbortController();
    const late = pause(this.#options.times.lastMsMax, true, { signal: waiting.signal });
    const result = await Promise.race([outcome, late]);
    waiting.abort();
    await late.catch(() => undefined);
    this.#channel.destroy();
    return result;
  }

  #over(): void {
    this.#state = 'over';
    this.#stopTimers();
    this.#options.onOver(this);
  }

  #stopTimers(): void {
    clearTimeout(this.#timer);
    clearInterval(this.#tails);
  }

  #since(beganMs: number): number {
    return Math.round(this.#options.clock.monotonicMs() - beganMs);
  }
}
