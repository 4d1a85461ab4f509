/**
 * One or three brokers on this machine, for the time of a demo or a test: JetStream on disk and synced with every write,
 * as the guide asks operators to run it. They can be killed, stopped like a process that hangs, and started again with their
 * data. They are ended by their process ids, also when the process that started them exits.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { NatsServer } from './nats-server.ts';

/** A broker alone is there in 0.1 s, three agree in 0.2 to 6 s, and a machine may be ten times as busy. */
const readyMsMax = 100_000;
/**
 * Three new brokers that have not formed a cluster by then begin again, with twice the time at each further try. 2.10.27
 * never formed one in 9 of 122 first starts: some took the cluster for one of two, and a restart does not always help.
 * 2.15.1 always did.
 */
const formMsMax = 10_000;
const formTriesMax = 4;
/** Characters of a broker's log in memory. */
const logLengthMax = 64 * 1024;
/** Of these, what an error shows of each. */
const messageLengthMax = 4096;

export interface Place {
  readonly name: string;
  /** Ports: for clients, for the other brokers, for questions about its health. */
  readonly client: number;
  readonly route: number;
  readonly monitor: number;
}

export interface BrokersOptions {
  readonly places: readonly Place[];
  /** Only for these brokers. They continue with the data that earlier ones stored there. */
  readonly folder: string;
  readonly server: NatsServer;
  /** Users and their permissions; without it every client may do everything. */
  readonly accounts?: Accounts;
}

export interface Accounts {
  /** A configuration file to include. */
  readonly file: string;
  /** Variables that it names. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface Brokers {
  readonly all: readonly Broker[];
  /** One to connect to each, as `nats://127.0.0.1:<port>`. */
  readonly urls: readonly string[];
  /** Waits until JetStream has a leader again, and each broker that runs knows it and is up to date. */
  readonly ready: () => Promise<void>;
  /** @returns whether they are ready within `msMax` */
  readonly becomeReady: (msMax: number) => Promise<boolean>;
  /** The ends of their logs, for the message of what fails. */
  readonly logs: () => string;
  readonly close: () => Promise<void>;
}

/** Starts them and waits until they are ready. */
export async function startBrokers(options: BrokersOptions): Promise<Brokers> {
  const { places, folder, server, accounts } = options;
  const isNew = !existsSync(folder) || readdirSync(folder).length === 0;
  const all = places.map((place) => {
    const own = join(folder, place.name);
    mkdirSync(own, { recursive: true });
    const configuration = join(own, 'nats-server.conf');
    writeFileSync(configuration, configurationOf(place, places, own));
    if (accounts !== undefined) {
      copyFileSync(accounts.file, join(own, 'accounts.conf'));
      appendFileSync(configuration, 'include "accounts.conf"\n');
    }
    return new Broker(place, [server.path, '--config', configuration], accounts?.environment);
  });
  const close = async (): Promise<void> => {
    await Promise.all(all.map((broker) => broker.kill()));
  };
  const restart = async (): Promise<void> => {
    await close();
    for (const { name } of all) rmSync(join(folder, name, 'jetstream'), { recursive: true });
    for (const broker of all) broker.start();
  };
  try {
    for (const broker of all) broker.start();
    for (let tries = 0; tries < (isNew ? formTriesMax : 0); tries += 1) {
      if (await becomeReady(all, formMsMax * 2 ** tries)) break;
      await restart();
    }
    await ready(all);
  } catch (error) {
    await close();
    throw error;
  }
  return {
    all,
    urls: all.map(({ url }) => url),
    ready: () => ready(all),
    becomeReady: (msMax) => becomeReady(all, msMax),
    logs: () => logsOf(all),
    close,
  };
}

type Command = readonly [path: string, ...args: string[]];

/** Clients do not learn the other brokers' addresses: a client behind a proxy must not bypass it. */
function configurationOf(place: Place, places: readonly Place[], folder: string): string {
  const others = places.filter(({ name }) => name !== place.name);
  const routes = others.map(({ route }) => `nats://127.0.0.1:${route}`);
  const cluster = `cluster {
  name: quietzone
  listen: "127.0.0.1:${place.route}"
  no_advertise: true
  routes: ${JSON.stringify(routes)}
}
`;
  return `server_name: ${place.name}
listen: "127.0.0.1:${place.client}"
http: "127.0.0.1:${place.monitor}"
jetstream {
  store_dir: ${JSON.stringify(folder)}
  sync_interval: always
  max_memory_store: 64MB
  max_file_store: 4GB
}
${places.length > 1 ? cluster : ''}`;
}

/** Brokers that run: a test that fails leaves none behind. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

export class Broker {
  readonly name: string;
  readonly url: string;
  readonly port: number;
  /** The last lines of its log, across restarts. */
  log = '';
  readonly #monitorUrl: string;
  readonly #command: Command;
  readonly #environment: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;
  #isStopped = false;

  constructor(place: Place, command: Command, environment: Readonly<Record<string, string>> = {}) {
    this.name = place.name;
    this.port = place.client;
    this.url = `nats://127.0.0.1:${place.client}`;
    this.#monitorUrl = `http://127.0.0.1:${place.monitor}`;
    this.#command = command;
    this.#environment = environment;
  }

  /** Answers: it was started, and neither killed nor stopped since. */
  get isRunning(): boolean {
    return this.#child !== undefined && !this.#isStopped;
  }

  /** Undefined if it does not run. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Starts it, for the first time or again: with its ports and on what it stored. */
  start(): void {
    if (this.#child !== undefined) throw new Error(`Cannot start broker ${this.name}: it runs`);
    const [path, ...args] = this.#command;
    const env = { ...process.env, ...this.#environment };
    const child = spawn(path, args, { env, stdio: ['ignore', 'ignore', 'pipe'] });
    child.stderr.on('data', (text) => {
      this.log = (this.log + String(text)).slice(-logLengthMax);
    });
    running.add(child);
    child.once('exit', (code, signal) => {
      running.delete(child);
      if (this.#child === child) this.#child = undefined;
      this.log += `ended: ${String(signal ?? code)}\n`;
    });
    this.#child = child;
    this.#isStopped = false;
  }

  /** SIGKILL; waits for its end. Nothing where it does not run. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  /** SIGSTOP: its connections stay, and it does not answer. */
  stop(): void {
    this.#isStopped = true;
    this.#child?.kill('SIGSTOP');
  }

  /** SIGCONT. */
  resume(): void {
    this.#child?.kill('SIGCONT');
    this.#isStopped = false;
  }

  /** The answer of its monitoring; undefined if it does not answer yet or reports itself unfit. */
  async ask(path: string): Promise<unknown> {
    try {
      const signal = AbortSignal.timeout(1000);
      const response = await fetch(`${this.#monitorUrl}/${path}`, { signal });
      const body: unknown = await response.json();
      return response.ok ? body : undefined;
    } catch {
      return undefined;
    }
  }
}

async function ready(all: readonly Broker[]): Promise<void> {
  if (await becomeReady(all, readyMsMax)) return;
  throw new Error(`The brokers are not ready after ${readyMsMax} ms\n${logsOf(all)}`);
}

async function becomeReady(all: readonly Broker[], msMax: number): Promise<boolean> {
  const untilMs = performance.now() + msMax;
  while (!(await isReady(all))) {
    if (performance.now() > untilMs) return false;
    await pause(50);
  }
  return true;
}

const logsOf = (all: readonly Broker[]): string =>
  all.map(({ name, log }) => `--- ${name}\n${log.slice(-messageLengthMax)}`).join('\n');

interface JetStreamState {
  readonly meta_cluster?: {
    readonly leader?: string;
    readonly cluster_size: number;
    /** Of the leader alone. */
    readonly replicas?: readonly { readonly name: string; readonly current: boolean }[];
  };
}

const isState = (answer: unknown): answer is JetStreamState =>
  typeof answer === 'object' && answer !== null;

async function isReady(all: readonly Broker[]): Promise<boolean> {
  const present = all.filter(({ isRunning }) => isRunning);
  const healths = await Promise.all(present.map((broker) => broker.ask('healthz')));
  if (present.length === 0 || healths.includes(undefined)) return false;
  if (all.length === 1) return true;
  const states = await Promise.all(present.map((broker) => broker.ask('jsz')));
  const groups = states.map((state) => (isState(state) ? state.meta_cluster : undefined));
  const [leader, ...others] = new Set(groups.map((group) => group?.leader));
  const leads = groups[present.findIndex(({ name }) => name === leader)];
  if (leads === undefined || others.length > 0 || leads.cluster_size !== all.length) return false;
  const current = leads.replicas?.filter((replica) => replica.current) ?? [];
  const names = new Set([leader, ...current.map(({ name }) => name)]);
  return present.every(({ name }) => names.has(name));
}
