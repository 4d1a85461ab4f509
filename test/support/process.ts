/**
 * The real service as a child process, as an operator runs it: `quietzone serve` on free ports and a data
 * folder of its own, watched through its exit code, its output and its sockets alone.
 */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Piscina } from 'piscina';
import type { CommandOrder } from './command.worker.ts';
import { addFirstOwner } from './fakes/first-owner.ts';
import { testPrices } from './fakes/prices.ts';
import { isFromSources, type ProgramStart, startProgram } from './program.ts';
import { metricsPortOf, type Ports, RunningService } from './running-service.ts';

/** An idle machine starts the service in two seconds, one with ten times as much to do in 30; beyond this it hangs. */
const readyMsMax = 100_000;

type Args = readonly string[];
/** `QZ_…` variables. */
type Settings = Readonly<Record<string, string>>;

export interface ProcessOptions {
  readonly dataDir: string;
  readonly ports: Ports;
  readonly environment?: Settings | undefined;
  /** Default: `serve`. */
  readonly command?: Args;
  /** Such as `preload` of a module. */
  readonly nodeOptions?: readonly string[];
  /** It may have so many descriptors. */
  readonly openFiles?: number;
  /** `ignore` is the null device; default: it is read. */
  readonly stdout?: 'pipe' | 'ignore';
  /** A descriptor; default: it is read. */
  readonly stderr?: number;
  readonly program?: ProgramStart['program'];
  /** Starts it, and not `startService`. */
  readonly start?: () => ChildProcess;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Services that have not ended: a test that fails leaves none behind. */
const running = new Set<ServiceProcess>();
process.once('exit', () => {
  for (const service of running) service.signal('SIGKILL');
});

function startService(options: ProcessOptions): ChildProcess {
  const { openFiles, nodeOptions = [], command = ['serve'] } = options;
  return startProgram(command, {
    environment: { NODE_OPTIONS: nodeOptions.join(' '), ...settingsOf(options) },
    stdio: ['ignore', options.stdout ?? 'pipe', options.stderr ?? 'pipe'],
    openFiles,
    program: options.program,
  });
}

export class ServiceProcess extends RunningService {
  readonly ports: Ports;
  readonly dataDir: string;
  readonly #child: ChildProcess;
  readonly #startedMs = performance.now();
  readonly exit: Promise<Exit>;
  readonly #checks = new Set<() => void>();
  stdout = '';
  stderr = '';

  constructor(options: ProcessOptions) {
    super();
    this.ports = options.ports;
    this.dataDir = options.dataDir;
    this.#child = (options.start ?? (() => startService(options)))();
    this.#child.stdout?.on('data', (text) => void (this.stdout += text));
    this.#child.stderr?.on('data', (text) => {
      this.stderr += text;
      for (const check of this.#checks) check();
    });
    running.add(this);
    this.exit = once(this.#child, 'close').then(([code, signal]) => {
      running.delete(this);
      return { code, signal };
    });
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error('Cannot start the service');
    return this.#child.pid;
  }

  /** The key that the first start printed. */
  get apiKey(): string {
    const key = /API key +(\S+)/.exec(this.stdout)?.[1];
    if (key === undefined) throw new Error(`Cannot find an API key in: ${this.stdout}`);
    return key;
  }

  /** Resolves to the milliseconds from the start of the process until it says that it is ready. */
  async ready(): Promise<number> {
    return await this.waitForLog(/"msg":"ready"/, readyMsMax);
  }

  /** Resolves in the moment in which the log has a match from its character `from` on, or in which the process ends. */
  async said(pattern: RegExp, from = 0): Promise<void> {
    const found = Promise.withResolvers<void>();
    const check = (): void => {
      if (pattern.test(this.stderr.slice(from))) found.resolve();
    };
    check();
    this.#checks.add(check);
    await Promise.race([found.promise, this.exit]);
    this.#checks.delete(check);
  }

  /** Resolves to the milliseconds since the start when the log has a match. @throws when it ends first */
  async waitForLog(pattern: RegExp, msMax: number): Promise<number> {
    const deadlineMs = performance.now() + msMax;
    while (!pattern.test(this.stderr)) {
      const ended = await Promise.race([this.exit, pause(5)]);
      if (ended !== undefined && !pattern.test(this.stderr)) {
        throw new Error(`The service ended with ${JSON.stringify(ended)}:\n${this.stderr}`);
      }
      if (performance.now() > deadlineMs) {
        throw new Error(`No ${String(pattern)} within ${msMax} ms in:\n${this.stderr}`);
      }
    }
    return performance.now() - this.#startedMs;
  }

  /** Nobody reads its output and its log any more. */
  closeReaders(): void {
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }

  async kill(): Promise<void> {
    await this.closeClients();
    this.#child.kill('SIGKILL');
    await this.exit;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** SIGTERM; how it ended and how long that took. */
  async terminate(): Promise<Exit & { readonly ms: number }> {
    await this.closeClients();
    const startedMs = performance.now();
    this.#child.kill('SIGTERM');
    return { ...(await this.exit), ms: performance.now() - startedMs };
  }
}

/** One thread of each kind: for tests that count threads or descriptors, or need no more. */
export const fewThreads = {
  QZ_REDIRECT_THREADS: '1',
  QZ_SCANS_SHARDS: '1',
  QZ_IMAGES_THREADS: '1',
  QZ_WEBHOOKS_THREADS: '1',
};

/** The settings of a service on a folder and ports of its own. */
export function settingsOf({
  dataDir,
  ports: { api, redirect },
  environment = {},
}: Pick<ProcessOptions, 'dataDir' | 'ports' | 'environment'>): Record<string, string> {
  return {
    QZ_DATA_DIR: dataDir,
    QZ_API_HOST: '127.0.0.1',
    QZ_API_PORT: String(api),
    QZ_API_PUBLIC_URL: `http://127.0.0.1:${api}`,
    QZ_REDIRECT_HOST: '127.0.0.1',
    QZ_REDIRECT_PORT: String(redirect),
    QZ_SHORT_URL_BASE: `http://127.0.0.1:${redirect}`,
    QZ_METRICS_PORT: String(metricsPortOf(api)),
    ...testPrices,
    ...environment,
  };
}

/** Starts the service, from its sources with an owner, and waits until it is ready. Default: on free ports. */
export async function startProcess(
  given: Omit<ProcessOptions, 'ports'> & { readonly ports?: Ports },
): Promise<ServiceProcess> {
  const options = { ...given, ports: given.ports ?? (await freePorts()) };
  if (isFromSources) await addFirstOwner(settingsOf(options));
  const service = new ServiceProcess(options);
  await service.ready();
  return service;
}

export interface CommandResult extends Exit {
  readonly stdout: string;
  readonly stderr: string;
}

let commandThread: Piscina<CommandOrder, CommandResult> | undefined;

/**
 * Runs `quietzone <arguments>`: the sources in a thread of this process, the one file as a process. Not in this
 * thread: a command that waits for the writer's lock would hold up the service that has it, when that runs here too.
 */
export async function runCommand(args: Args, environment: Settings): Promise<CommandResult> {
  if (!isFromSources) return await spawnCommand(args, environment);
  const filename = new URL('./command.worker.ts', import.meta.url).href;
  // Kept for the next command; it keeps no process alive.
  commandThread ??= new Piscina({ filename, minThreads: 1, maxThreads: 1 });
  return await commandThread.run({ args, environment });
}

/** The first workspace may ask as often as it likes: then no test depends on how fast the machine is. */
export async function liftQuota(dataDir: string): Promise<void> {
  const environment = { QZ_DATA_DIR: dataDir };
  const listed = await runCommand(['workspaces', 'list', '--json'], environment);
  const [{ id }]: [{ id: string }] = JSON.parse(listed.stdout);
  const plan = ['workspaces', 'set-plan', id, 'enterprise', '--per-minute', '1000000'];
  const { code, stderr } = await runCommand(plan, environment);
  if (code !== 0) throw new Error(`Cannot lift the quota: ${stderr}`);
}

/** Runs `quietzone <arguments>` as a process of its own, to its end. */
export async function spawnCommand(args: Args, environment: Settings): Promise<CommandResult> {
  return await endOf(startProgram(args, { environment, stdio: ['ignore', 'pipe', 'pipe'] }));
}

/** What a process says until it ends. */
export async function endOf(child: ChildProcess): Promise<CommandResult> {
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (text) => void (stdout += text));
  child.stderr?.on('data', (text) => void (stderr += text));
  const [code, signal] = await once(child, 'close');
  return { code, signal, stdout, stderr };
}

/** How long something may take. */
export interface TimeLimit {
  /** On a machine with cores to spare. */
  readonly msMax: number;
  /** Elsewhere so many times what it takes to load the program, a third of a second when it is idle. */
  readonly loadings: number;
}

/**
 * Whether it took no longer than it may. How long the machine takes now to load the program is measured for what takes
 * longer than it does elsewhere: a bound that holds on a machine whose cores others use too.
 */
export async function isWithin(ms: number, { msMax, loadings }: TimeLimit): Promise<boolean> {
  if (ms < msMax) return true;
  const startedMs = performance.now();
  // Compiled anew, as an operator's service is. Not `version`: the one file answers that before it loads.
  await spawnCommand(['help'], { NODE_COMPILE_CACHE: '' });
  return ms < loadings * (performance.now() - startedMs);
}

/**
 * Ports come in blocks of four: one that is held, the API's, the redirect's, the metrics'. They lie below the range out of
 * which the kernel gives ports to listeners on port 0 and to connections (from 32768 on Linux, 49152 elsewhere,
 * 16000 in gVisor): out of it, another test may get a port while its service is about to listen, or is down
 * between two lives.
 */
const firstPort = 10_240;
const blocks = 1_400;
const portsPerBlock = 4;

/** Where the next search begins: processes that start together begin far from each other. */
let next = (process.pid * 577) % blocks;

/**
 * Two ports that nobody uses now. This process listens on the first of their block until it ends, so no test in
 * any process is given them again meanwhile, and a process that is killed leaves nothing behind.
 */
export async function freePorts(): Promise<Ports> {
  for (let tries = 0; tries < blocks; tries += 1) {
    const held = firstPort + next * portsPerBlock;
    next = (next + 1) % blocks;
    const holder = await listen(held);
    if (holder === undefined) continue;
    if (await areFree(held + 1, held + 2, held + 3)) {
      holder.unref();
      return { api: held + 1, redirect: held + 2 };
    }
    holder.close();
  }
  throw new Error(`Cannot find free ports from ${firstPort} on: all ${blocks} blocks are taken`);
}

async function areFree(...ports: readonly number[]): Promise<boolean> {
  for (const port of ports) {
    const server = await listen(port);
    if (server === undefined) return false;
    server.close();
    await once(server, 'close');
  }
  return true;
}

async function listen(port: number): Promise<Server | undefined> {
  const server = createServer();
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
    return server;
  } catch {
    return undefined;
  }
}

/** A data folder for the time of `work`; what still runs on it afterwards is killed. */
export async function withDataFolder<T>(work: (dataDir: string) => Promise<T>): Promise<T> {
  const dataDir = await mkdtemp(join(tmpdir(), 'quietzone-flow-'));
  try {
    return await work(dataDir);
  } finally {
    const left = [...running].filter((service) => service.dataDir.startsWith(dataDir));
    await Promise.all(left.map((service) => service.kill()));
    await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
  }
}

export const pause = (ms: number): Promise<undefined> =>
  new Promise((resolve) => setTimeout(() => resolve(undefined), ms));
