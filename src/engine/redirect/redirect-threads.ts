/**
 * Starts, supervises and drains the redirect threads. A thread that dies restarts at the end of its journal.
 * At a takeover another process listens on the ports too, then `handOver` and `stop`.
 */
import { randomBytes } from 'node:crypto';
import type { Config } from '../../platform/config/config.ts';
import { MissThrottle } from './miss-throttle.ts';
import { ListenError } from '../../platform/uws/port.ts';
import { errorPageKinds, installationBrand, type PageChanges } from './pages.ts';
import {
  gate,
  noRefusals,
  type RedirectCommand,
  type RedirectFigures,
  type RedirectMessage,
  type RedirectSetup,
} from './redirect-thread.ts';
import type { LinkTableMemory } from '../links/layout.ts';
import type { Clock } from '../../model/clock.ts';
import type { GeoData } from '../visitor/geo/geo.ts';
import type { HealthCheck } from '../../platform/health.ts';
import { shipped } from '../../platform/shipped.ts';
import { addCounts, createLatencyHistogram } from '../../platform/latency-histogram.ts';
import type { Logger } from '../../platform/log.ts';
import {
  type StartPace,
  startThreads,
  SupervisedThread,
} from '../../platform/workers/supervised-thread.ts';
import type { Journals } from '../journal/journals.ts';

/** From the end of a drain until a thread is cut off. */
const drainGraceMs = 500;

/** Of a thread and those that died before it, since the start of the service. */
export interface RedirectTotals {
  readonly redirects: number;
  readonly dropped: number;
  readonly shed: number;
  readonly refused: Readonly<RedirectFigures['refused']>;
}

interface RedirectState {
  readonly thread: SupervisedThread<RedirectSetup, RedirectCommand, RedirectMessage>;
  isListening: boolean;
  onHandedOver?: (() => void) | undefined;
  figures: RedirectFigures | undefined;
  before: RedirectTotals;
}

export interface RedirectThreadsOptions {
  readonly config: Config;
  readonly threads: number;
  readonly clock: Clock;
  readonly log: Logger;
  readonly links: LinkTableMemory;
  readonly geo: GeoData;
  readonly journals: Journals;
  /** Of workspaces; absent = none. */
  readonly pages?: (() => PageChanges) | undefined;
  /** A thread that starts reads and writes in the data folder. */
  readonly whenInPlace: () => Promise<void>;
  /** Of each thread; absent = no limit. */
  readonly connectionsMax?: number;
}

export class RedirectThreads {
  readonly #options: RedirectThreadsOptions;
  readonly #missSeed = randomBytes(4).readInt32LE();
  readonly #misses = new MissThrottle(0).memory;
  readonly #gate = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  readonly states: RedirectState[] = [];
  readonly latency = createLatencyHistogram();
  #port = 0;
  #onListening: ((reason: string | undefined) => void) | undefined;

  constructor(options: RedirectThreadsOptions) {
    this.#options = options;
  }

  get port(): number {
    return this.#port;
  }

  /** Scans that wait in memory for a journal; a stop loses them. */
  get waitingScans(): number {
    return this.states.reduce((sum, { figures }) => sum + (figures?.waitingScans ?? 0), 0);
  }

  get shed(): number {
    return this.#sum(({ shed }) => shed);
  }

  get answered(): number {
    return this.#sum(({ redirects }) => redirects);
  }

  get checks(): HealthCheck[] {
    return [
      { name: 'redirects', problem: () => this.#listenProblem() },
      { name: 'journal', problem: () => this.#journalProblem() },
    ];
  }

  /**
   * Boots the threads, which wait at the gate until the link table is filled.
   * @returns opens the gate; resolves when all listen @throws ListenError if one cannot
   */
  async boot(pace: StartPace = 'at once'): Promise<() => Promise<void>> {
    const listening = new Promise<void>((resolve, reject) => {
      this.#onListening = (reason) => {
        if (reason !== undefined) reject(new ListenError(reason));
        else if (this.#isListening) resolve();
      };
    });
    // The caller that opens the gate handles an earlier failure.
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

  /** Stops listening, and sends clients of open connections to new ones. Resolves when nothing is journaled any more. */
  async handOver(): Promise<void> {
    this.#setGate(gate.closed);
    await Promise.all(this.states.map(handedOver));
  }

  updatePages(changes: PageChanges): void {
    for (const { thread } of this.states) thread.send({ kind: 'pages', changes });
  }

  #sum(value: (totals: RedirectTotals) => number): number {
    return this.states.reduce((sum, state) => sum + value(redirectTotals(state)), 0);
  }

  get #isListening(): boolean {
    return this.states.every((state) => state.isListening);
  }

  /** @param drainMsMax how long to wait for open connections */
  async stop(drainMsMax: number): Promise<void> {
    // Threads at the gate pass it and do not listen.
    if (Atomics.load(this.#gate, 0) === gate.wait) this.#setGate(gate.closed);
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
    const { clock, log } = this.#options;
    const state: RedirectState = {
      thread: new SupervisedThread({
        file: shipped.workerFile('redirect'),
        clock,
        setup: async () => {
          await this.#options.whenInPlace();
          return this.#setup(index);
        },
        onMessage: (message) => this.#onMessage(state, message),
        onDeath: (reason, restarts) => {
          log.error({ thread: index, reason, restarts }, 'a redirect thread failed, restarting');
          addTotals(state);
          this.#onListening?.(`Cannot start a redirect thread: ${reason}`);
        },
      }),
      isListening: false,
      figures: undefined,
      before: { redirects: 0, dropped: 0, shed: 0, refused: noRefusals() },
    };
    return state;
  }

  #setup(index: number): RedirectSetup {
    const { config, links, geo, journals, connectionsMax = Infinity } = this.#options;
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
      geo,
      trustedProxies: config.trustedProxies,
      durability: config.durability,
      journalRoot: journals.root,
      journalFolder: journals.folder(journal),
      journalPosition: journals.recover(journal),
      tails: journals.tails.memory,
    };
  }

  #onMessage(state: RedirectState, message: RedirectMessage): void {
    const { config, log } = this.#options;
    switch (message.kind) {
      case 'booted':
        return;
      case 'listening':
        state.isListening = true;
        this.#port = message.port;
        return this.#onListening?.(undefined);
      case 'handed-over':
        state.isListening = false;
        return state.onHandedOver?.();
      case 'cannot-listen': {
        const at = `${config.redirect.host}:${message.port}`;
        return this.#onListening?.(`Cannot listen on ${at}: ${message.reason}`);
      }
      default:
    }
    const { figures } = message;
    const { journalFault, waitingScans, latency } = figures;
    if (journalFault !== undefined && journalFault !== state.figures?.journalFault) {
      log.error({ journalFault }, 'writing a journal failed, scans wait in memory');
    }
    if (message.kind === 'stopped') {
      log.debug({ redirects: figures.redirects }, 'a redirect thread stopped');
      if (waitingScans > 0) {
        log.error({ lostScans: waitingScans }, 'stopped with scans that could not be journaled');
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

/** Resolves when the thread has handed over, or has died. */
async function handedOver(state: RedirectState): Promise<void> {
  await new Promise<void>((resolve) => {
    state.onHandedOver = resolve;
    state.thread.send({ kind: 'hand-over' });
  });
  state.onHandedOver = undefined;
}

function addTotals(state: RedirectState): void {
  const totals = redirectTotals(state);
  // Scans in the thread's memory are lost.
  state.before = { ...totals, dropped: totals.dropped + (state.figures?.waitingScans ?? 0) };
  state.isListening = false;
  state.figures = undefined;
  state.onHandedOver?.();
}
