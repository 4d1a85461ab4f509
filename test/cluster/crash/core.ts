/**
 * One core of a crash run: a process that is killed, frozen and cut off, and a data file that stays.
 *
 *     down ──start──▶ up ──kill──▶ down       up ──pause──▶ frozen ──resume──▶ up       up ──stops itself──▶ stopped
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Stop } from '../../../src/cluster/log/replicator.ts';
import type { CuttablePath } from '../nats/cuttable-path.ts';
import type { Answer, CoreMessage, CoreSettings, Order, Status } from './messages.ts';
import type { Victim } from './victim.ts';

/** Of one run of the process: it died before it answered. */
export type Outcome = Answer | { readonly kind: 'unknown' };

export interface CoreOptions {
  readonly name: string;
  readonly folder: string;
  readonly isSingle: boolean;
  /** Its own way to the brokers; undefined without any. */
  readonly path: CuttablePath | undefined;
  readonly note: (line: string) => void;
}

interface Run {
  readonly child: ChildProcess;
  readonly waiting: Map<number, (outcome: Outcome) => void>;
  /** The epoch that it leads, as it said last. */
  epoch: number | undefined;
}

/** Frozen ones too end with this process; others end by themselves when it is gone. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

const stripSources = new URL('../../support/strip-sources.mjs', import.meta.url).href;

export class Core implements Victim {
  readonly #options: CoreOptions;
  readonly name: string;
  readonly dataFile: string;
  #run: Run | undefined;
  #runs = 0;
  #orders = 0;
  isPaused = false;
  isCut = false;
  /** What it wrote to stderr, in all its lives. */
  errors = '';
  stop: Stop | undefined;

  constructor(options: CoreOptions) {
    this.#options = options;
    this.name = options.name;
    this.dataFile = join(options.folder, options.name, 'core.mdb');
  }

  get isUp(): boolean {
    return this.#run !== undefined;
  }

  /** It is up, and nothing is done to it. */
  get isWell(): boolean {
    return this.isUp && !this.isPaused && !this.isCut;
  }

  /** Of the lead that it has, or does not know to have lost. */
  get epoch(): number | undefined {
    return this.#run?.epoch;
  }

  get waiting(): number {
    return this.#run?.waiting.size ?? 0;
  }

  start(): void {
    if (this.#run !== undefined || this.stop !== undefined) return;
    const { name, isSingle, path } = this.#options;
    const settings: CoreSettings = {
      name,
      owner: `${name}.${++this.#runs}`,
      dataFile: this.dataFile,
      servers: path?.urls ?? [],
      isSingle,
    };
    const child = fork(new URL('core.child.ts', import.meta.url), [JSON.stringify(settings)], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      execArgv: ['--import', stripSources],
    });
    const run: Run = { child, waiting: new Map(), epoch: undefined };
    this.#run = run;
    running.add(child);
    child.stderr!.on('data', (text) => void (this.errors += String(text)));
    child.on('message', (message: CoreMessage) => this.#receive(run, message));
    child.once('close', (code, signal) => this.#ended(run, String(signal ?? code)));
  }

  async kill(): Promise<void> {
    const run = this.#run;
    if (run === undefined) return;
    const closed = once(run.child, 'close');
    run.child.kill('SIGKILL');
    await closed;
  }

  /** SIGSTOP. */
  pause(): void {
    if (this.#run === undefined) return;
    this.isPaused = true;
    this.#run.child.kill('SIGSTOP');
  }

  /** SIGCONT. */
  resume(): void {
    this.isPaused = false;
    this.#run?.child.kill('SIGCONT');
  }

  cut(): void {
    this.isCut = true;
    this.#options.path?.cut();
  }

  heal(): void {
    this.isCut = false;
    this.#options.path?.heal();
  }

  /** Never rejects. */
  ask(order: (id: number) => Order): Promise<Outcome> {
    const run = this.#run;
    if (run === undefined) return Promise.resolve({ kind: 'refused', detail: 'it is down' });
    const id = ++this.#orders;
    return new Promise((resolve) => {
      run.waiting.set(id, resolve);
      // Where it dies meanwhile, its end is told.
      run.child.send(order(id), () => undefined);
    });
  }

  /** Undefined while it is down. */
  async status(): Promise<Status | undefined> {
    const outcome = await this.ask((id) => ({ kind: 'status', id }));
    return outcome.kind === 'status' ? outcome.status : undefined;
  }

  #receive(run: Run, message: CoreMessage): void {
    const { note } = this.#options;
    switch (message.kind) {
      case 'answer': {
        const resolve = run.waiting.get(message.id);
        run.waiting.delete(message.id);
        resolve?.(message.answer);
        return;
      }
      case 'leading':
        run.epoch = message.epoch;
        note(`${this.name} leads epoch ${message.epoch}`);
        return;
      case 'deposed':
        run.epoch = undefined;
        note(`${this.name} is deposed`);
        return;
      case 'open':
        note(`${this.name} is open`);
        return;
      case 'stopped':
        this.stop = message.stop;
        note(`${this.name} stops: ${message.stop.reason}: ${message.stop.detail}`);
    }
  }

  #ended(run: Run, how: string): void {
    running.delete(run.child);
    this.#run = undefined;
    this.isPaused = false;
    if (how !== 'SIGKILL') this.#options.note(`${this.name} ended with ${how}`);
    for (const resolve of run.waiting.values()) resolve({ kind: 'unknown' });
  }
}
