/**
 * What the running service does for its successor (engine/takeover/messages.ts has the order, and the states of both
 * sides).
 *
 *   yield      webhooks, schedulers -> changes of management.mdb -> shards -> limits are taken: each ends before the next
 *   finish     redirect threads hand over and sync their journals, beside the API
 *   takeBack   lock -> the successor's journals and changes -> shards count -> limits -> redirects listen -> writers
 *
 * Redirects are answered all the time: by this process until the successor listens, then on open connections alone, for
 * `drainMs` at most.
 */
import type { LinkRefresher } from './codes/links/link-refresher.ts';
import type { Limits, Tails } from './engine/takeover/messages.ts';
import type { TakeoverHost } from './engine/takeover/successor-connection.ts';
import { Signal } from './model/signal.ts';
import { type Base, dataVersions } from './modules.ts';
import { shipped } from './shipped.ts';
import type { Engine, Writers } from './writers.ts';

/** Phones with a connection open have so long to send a request; those that begin one are answered. */
const drainMs = 10_000;

export interface HostOptions {
  readonly base: Base;
  readonly engine: Engine;
  readonly refresher: LinkRefresher;
  readonly ports: readonly number[];
  /** The process that this one has taken over from. */
  readonly predecessor?: { readonly isWriting: boolean } | undefined;
  /** The open ones. */
  readonly writers: Writers;
  /** Opened again after a takeover that failed. */
  readonly reopen: () => Promise<Writers>;
  /** Takes the folder's lock again, after a successor that is gone. */
  readonly lockAgain: () => Promise<void>;
  /** The process has nothing left to do. */
  readonly ended: () => void;
}

type State =
  /** All is ours. A stop, or a successor that asks, ends it. */
  | 'serving'
  /** From the successor's `ready` until it listens; its death leads back to `serving`. */
  | 'yielding'
  /** Back from a successor that is gone. */
  | 'taking back'
  /** The last redirects are answered; a death of the successor still leads back. */
  | 'finishing'
  | 'ended'
  /** A signal. What a successor asks for waits until this process has ended. */
  | 'stopping';

export class RunningService implements TakeoverHost {
  readonly release = shipped.version;
  readonly dataVersions = dataVersions;
  readonly #options: HostOptions;
  #state: State = 'serving';
  #writers: Writers;
  #closing: Promise<void> | undefined;
  /** Fired when the state is `serving` again, or `ended`. */
  readonly #settled = new Signal();

  constructor(options: HostOptions) {
    this.#options = options;
    this.#writers = options.writers;
  }

  get journals(): readonly number[] {
    return this.#options.engine.threads.journals.own;
  }

  get ports(): readonly number[] {
    return this.#options.ports;
  }

  get refusal(): string | undefined {
    if (this.#state !== 'serving') return `the running service is ${this.#state}`;
    // A third process would journal under the first one's numbers, and the first one would take the second's end for a death.
    if (this.#options.predecessor?.isWriting !== true) return undefined;
    return 'the running service has just taken over, and the process before it still answers open connections; try again in 10 s';
  }

  /** The service stops. Where a takeover is under way, it ends first, one way or the other. */
  async stop(): Promise<void> {
    while (this.#state !== 'serving' && this.#state !== 'ended') {
      if (this.#state === 'stopping') break;
      await this.#outcome();
    }
    if (this.#state === 'serving') this.#state = 'stopping';
    await this.#closeWriters();
  }

  async yield(): Promise<{ readonly limits: Limits; readonly tails: Tails }> {
    if (this.#state !== 'serving') return await never;
    this.#state = 'yielding';
    const { base, engine } = this.#options;
    await this.#writers.endWork();
    await base.management.environment.hold();
    await engine.threads.stopCounting();
    engine.threads.redirects.freezeLimits();
    return { limits: engine.codes.links.takeLimits(), tails: this.tails() };
  }

  tails(): Tails {
    return this.#options.engine.threads.journals.ownTails();
  }

  async follow(): Promise<void> {
    await this.#options.refresher.refresh();
  }

  /** Redirect threads stay, so that this can be taken back until the successor knows that all has ended. */
  async finish(): Promise<{ readonly tails: Tails; readonly lostScans: number }> {
    const { redirects } = this.#options.engine.threads;
    this.#state = 'finishing';
    await Promise.all([redirects.handOver(drainMs), this.#closeWriters()]);
    return { tails: this.tails(), lostScans: redirects.waitingScans };
  }

  async takeBack(): Promise<void> {
    if (this.#state !== 'yielding' && this.#state !== 'finishing') return;
    this.#state = 'taking back';
    const { base, engine, refresher, reopen, lockAgain } = this.#options;
    const { threads, codes } = engine;
    await threads.folder.whenInPlace();
    await lockAgain();
    threads.journals.recoverOthers();
    base.management.environment.release();
    await refresher.refresh();
    // A yield that failed early has left them as they were.
    if (!threads.isCounting) {
      void threads.shards.boot();
      await threads.startCounting('always');
      codes.links.reloadLimited();
    }
    await threads.redirects.resume();
    // On a full disk not all of it can be stored; everything is closed all the same.
    await this.#closeWriters().catch((err: unknown) => {
      base.log.error({ err }, 'the API and its schedulers were not closed cleanly');
    });
    this.#closing = undefined;
    threads.goesOn();
    this.#writers = await reopen();
    this.#state = 'serving';
    this.#settled.fire();
  }

  ended(): void {
    this.#state = 'ended';
    this.#settled.fire();
    this.#options.ended();
  }

  async #outcome(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const unlisten = this.#settled.listen(resolve);
    await promise;
    unlisten();
  }

  #closeWriters(): Promise<void> {
    return (this.#closing ??= this.#writers.close());
  }
}

/** For a successor that asks while this service stops: the end of this process answers it. */
const never = new Promise<never>(() => undefined);
