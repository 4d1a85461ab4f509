/**
 * The redirect threads: started, supervised and drained together.
 * A thread that dies starts again where its journal ends; the figures of its predecessors are kept.
 *
 * A takeover: `freezeLimits`, then another process listens on their ports, `handOver`, `stop`. Where it fails, `resume`.
 */
import { randomBytes } from 'node:crypto';
import type { Config } from '../config.ts';
import { MissThrottle } from '../http/miss-throttle.ts';
import { ListenError } from '../http/port.ts';
import { installationBrand } from '../http/pages.ts';
import { errorPageKinds } from '../http/pages/language-words.ts';
import type { PageChanges } from '../http/pages/packed-pages.ts';
import {
  gate,
  noRefusals,
  type RedirectCommand,
  type RedirectFigures,
  type RedirectMessage,
  type RedirectSetup,
} from '../http/redirect-thread.ts';
import type { LinkTableMemory } from '../links/layout.ts';
import type { Clock } from '../model/clock.ts';
import type { OpenTable } from '../scans/visitor/geo/table-units.ts';
import type { HealthCheck } from '../telemetry/health.ts';
import { shipped } from '../shipped.ts';
import { addCounts, createLatencyHistogram } from '../telemetry/latency-histogram.ts';
import type { Logger } from '../telemetry/log.ts';
import { type StartPace, startThreads, SupervisedThread } from '../workers/supervised-thread.ts';
import type { Journals } from './journals.ts';

/** Redirect threads are cut off this long after their own drain should have ended. */
const drainGraceMs = 500;

/** Counted since the start of the service, by a thread and its predecessors. */
export interface RedirectTotals {
  readonly redirects: number;
  readonly dropped: number;
  readonly shed: number;
  readonly refused: Readonly<RedirectFigures['refused']>;
}

interface RedirectState {
  readonly thread: SupervisedThread<RedirectSetup, RedirectCommand, RedirectMessage>;
  isListening: boolean;
  /** Set while `handOver` waits for its `handed-over`. */
  onHandedOver?: (() => void) | undefined;
  /** Of the thread that runs now. */
  figures: RedirectFigures | undefined;
  /** Of its predecessors that died. */
  before: RedirectTotals;
}

export interface RedirectThreadsOptions {
  readonly config: Config;
  readonly threads: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly links: LinkTableMemory;
  /** Its own ones are for these threads, in their order. */
  readonly journals: Journals;
  /** What workspaces say on their pages, now; absent = nothing. */
  readonly pages?: (() => PageChanges) | undefined;
  /** Resolves when the data folder is where it was: a thread that starts reads and writes there. */
  readonly whenInPlace: () => Promise<void>;
  /** Open at the same time, for each thread; absent = as many as come. */
  readonly connectionsMax?: number;
  /** The threads' entry; a test hands in one that it can kill. */
  readonly file?: URL;
}

export class RedirectThreads {
  readonly #options: RedirectThreadsOptions;
  readonly #missSeed = randomBytes(4).readInt32LE();
  readonly #misses = new MissThrottle(0, 0).memory;
  /** The values of `gate` in redirect-thread.ts. */
  readonly #gate = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  readonly states: RedirectState[] = [];
  /** Microseconds, all threads, since the start: a count of 32 bits would wrap within weeks. */
  readonly latency = createLatencyHistogram();
  #geo: OpenTable | undefined;
  #port = 0;
  #onListening: ((reason: string | undefined) => void) | undefined;

  constructor(options: RedirectThreadsOptions) {
    this.#options = options;
  }

  /** Rules of codes may ask for countries from here on. */
  useGeo(table: OpenTable | undefined): void {
    this.#geo = table;
    if (table === undefined) return;
    for (const { thread } of this.states) thread.send({ kind: 'geo', table });
  }

  /** The port of short links, once the gate is open and all threads listen. */
  get port(): number {
    return this.#port;
  }

  /** Scans that wait in memory for a journal; after a stop they are lost. */
  get waitingScans(): number {
    return this.states.reduce((sum, { figures }) => sum + (figures?.waitingScans ?? 0), 0);
  }

  /** Connections that were closed for want of places. */
  get shed(): number {
    return this.states.reduce((sum, state) => sum + redirectTotals(state).shed, 0);
  }

  /** Redirects since the start of this process. */
  get answered(): number {
    return this.states.reduce((sum, state) => sum + redirectTotals(state).redirects, 0);
  }

  get checks(): HealthCheck[] {
    return [
      { name: 'redirects', problem: () => this.#listenProblem() },
      { name: 'journal', problem: () => this.#journalProblem() },
    ];
  }

  /**
   * Boots the threads; they wait at the gate until the link table is filled.
   * @returns opens the gate; resolves when all listen, rejects with the reason when one cannot
   */
  async boot(pace: StartPace = 'at once'): Promise<() => Promise<void>> {
    const listening = new Promise<void>((resolve, reject) => {
      this.#onListening = (reason) => {
        if (reason !== undefined) reject(new ListenError(reason));
        else if (this.#isListening) resolve();
      };
    });
    // A failure before the gate opens is handled by the caller that opens it.
    listening.catch(() => undefined);
    for (let index = 0; index < this.#options.threads; index++) {
      this.states.push(this.#create(index));
    }
    const threads = this.states.map(({ thread }) => thread);
    await startThreads(threads, pace);
    return () => {
      this.#setGate(gate.open);
      return this.#isListening ? Promise.resolve() : listening;
    };
  }

  /**
   * Limited links with no scan left send their clients back to where they came, and threads that start do not listen.
   * To be called before limits are taken out of the link table for another process.
   */
  freezeLimits(): void {
    this.#setGate(gate.handedOver);
  }

  /**
   * Stops listening; connections that are open are closed with their next answer. The threads and their journals stay.
   * Resolves when no connection is open, or after `msMax`.
   */
  async handOver(msMax: number): Promise<void> {
    this.freezeLimits();
    await Promise.all(this.states.map((state) => handedOver(state, msMax)));
  }

  /**
   * Listens again; limits must be back in the link table before. Resolves when all threads listen; one that
   * cannot dies and tries again.
   */
  async resume(): Promise<void> {
    this.#setGate(gate.open);
    const listening = new Promise<void>((resolve) => {
      this.#onListening = (reason) => {
        if (reason === undefined && this.#isListening) resolve();
      };
    });
    for (const state of this.states) {
      state.isListening = false;
      state.onHandedOver?.();
      state.thread.send({ kind: 'resume' });
    }
    if (!this.#isListening) await listening;
  }

  /** A thread that starts gets them with all others. */
  updatePages(changes: PageChanges): void {
    for (const { thread } of this.states) thread.send({ kind: 'pages', changes });
  }

  /** All do; there may be none. */
  get #isListening(): boolean {
    return this.states.every((state) => state.isListening);
  }

  /** @param drainMsMax how long open connections are waited for */
  async stop(drainMsMax: number): Promise<void> {
    // Threads that wait are let through, and do not listen.
    if (Atomics.load(this.#gate, 0) === gate.wait) this.#setGate(gate.handedOver);
    const drain = { kind: 'drain', msMax: drainMsMax } as const;
    const cutOffMs = drainMsMax + drainGraceMs;
    await Promise.all(this.states.map(({ thread }) => thread.stop(drain, cutOffMs)));
  }

  /** @throws Error with the number of answered scans that are lost; after `stop` */
  assertJournaled(): void {
    const { waitingScans } = this;
    if (waitingScans === 0) return;
    throw new Error(`${waitingScans} answered scans are lost: no journal could take them`);
  }

  #setGate(value: number): void {
    Atomics.store(this.#gate, 0, value);
    Atomics.notify(this.#gate, 0);
  }

  #create(index: number): RedirectState {
    const { clock, log, file } = this.#options;
    const state: RedirectState = {
      thread: new SupervisedThread({
        file: file ?? shipped.workerFile('redirect'),
        clock,
        setup: async () => {
          await this.#options.whenInPlace();
          return this.#setup(index);
        },
        onMessage: (message) => this.#onMessage(state, message),
        onDeath: (reason, restarts) => {
          log.error({ thread: index, reason, restarts }, 'a redirect thread failed, restarting');
          keepTotals(state);
          this.#onListening?.(`Cannot start a redirect thread: ${reason}`);
        },
      }),
      isListening: false,
      figures: undefined,
      before: {
        redirects: 0,
        dropped: 0,
        shed: 0,
        refused: noRefusals(),
      },
    };
    return state;
  }

  #setup(index: number): RedirectSetup {
    const { config, links, journals } = this.#options;
    const { connectionsMax = Infinity } = this.#options;
    const journal = journals.own[index]!;
    return {
      ...config.scans,
      ...config.redirect,
      brand: installationBrand(config.pages),
      pages: this.#options.pages?.() ?? [],
      thread: index,
      journal,
      connectionsMax,
      links,
      misses: this.#misses,
      gate: this.#gate,
      missSeed: this.#missSeed,
      geo: this.#geo,
      trustedProxies: config.trustedProxies,
      trustedProxyHeader: config.trustedProxyHeader,
      durability: config.durability,
      journalRoot: journals.root,
      journalFolder: journals.folder(journal),
      journalPosition: journals.recover(journal),
      tails: journals.tails.memory,
    };
  }

  #onMessage(state: RedirectState, message: RedirectMessage): void {
    const { config, log } = this.#options;
    if (message.kind === 'booted') return;
    if (message.kind === 'listening') {
      state.isListening = true;
      this.#port = message.port;
      this.#onListening?.(undefined);
      return;
    }
    if (message.kind === 'handed-over') {
      state.isListening = false;
      state.onHandedOver?.();
      return;
    }
    if (message.kind === 'cannot-listen') {
      const at = `${config.redirect.host}:${message.port}`;
      this.#onListening?.(`Cannot listen on ${at}: ${message.reason}`);
      return;
    }
    const { figures } = message;
    const { journalFault, waitingScans, latency } = figures;
    if (journalFault !== undefined && journalFault !== state.figures?.journalFault) {
      log.error({ journalFault }, 'writing a journal failed, scans wait in memory');
    }
    if (message.kind === 'stopped') {
      log.debug({ redirects: figures.redirects }, 'a redirect thread stopped');
      if (waitingScans > 0) {
        log.error({ lostScans: waitingScans }, 'stopped with scans that no journal could take');
      }
    }
    state.figures = figures;
    addCounts(this.latency, latency);
  }

  #listenProblem(): string | undefined {
    const silent = this.states.filter((state) => !state.isListening).length;
    return silent === 0 ? undefined : `${silent} redirect threads are not listening`;
  }

  #journalProblem(): string | undefined {
    const faults = this.states.map(({ figures }) => figures?.journalFault);
    const fault = faults.find((text) => text !== undefined);
    return fault && `scans wait in memory, a journal cannot be written: ${fault}`;
  }
}

export function redirectTotals({ figures, before }: RedirectState): RedirectTotals {
  if (figures === undefined) return before;
  const refused = { ...before.refused };
  for (const kind of errorPageKinds) refused[kind] += figures.refused[kind];
  return {
    redirects: before.redirects + figures.redirects,
    dropped: before.dropped + figures.droppedScans,
    shed: before.shed + figures.shed,
    refused,
  };
}

/** Resolves when the thread has handed over, has died, listens again, or does not answer. */
async function handedOver(state: RedirectState, msMax: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const cutOff = setTimeout(resolve, msMax + drainGraceMs);
    state.onHandedOver = () => {
      clearTimeout(cutOff);
      resolve();
    };
    state.thread.send({ kind: 'hand-over', msMax });
  });
  state.onHandedOver = undefined;
}

function keepTotals(state: RedirectState): void {
  const totals = redirectTotals(state);
  // Scans that waited in the thread's memory died with it.
  state.before = { ...totals, dropped: totals.dropped + (state.figures?.waitingScans ?? 0) };
  state.isListening = false;
  state.figures = undefined;
  state.onHandedOver?.();
}
