/**
 * `npm run cluster:demo -- [--folder cluster-demo]`: a cluster on this machine, three brokers and three nodes, to try what
 * happens when some of them die. It takes commands until it is ended with Ctrl-C; the folder can be deleted afterwards.
 *
 *   <folder>/brokers/             what the brokers store
 *   <folder>/node1/ …             data folders, with node1.log … next to them
 *   <folder>/secret, password     of the cluster, and of its first owner
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startBrokers } from './brokers.ts';
import { findNatsServer } from './nats-server.ts';

const help = `
  kill active       the node that leads; another one takes over
  kill node 2       this node
  kill broker 2     this broker; two of three go on
  kill brokers      all of them: links still work, changes wait
  start             whatever is down
  status            who leads, and what runs
  quit              stops everything (Ctrl-C)
`;
/** Apart from the usual ports of Quietzone and NATS, which may be in use; a number from 1 to 3 is added. */
const ports = {
  api: 8090,
  redirect: 8190,
  metrics: 8390,
  client: 4290,
  route: 6290,
  monitor: 8290,
};
const numbers = [1, 2, 3];
const readyMsMax = 120_000;
const pollMs = 100;
const askMs = 1_000;
const program = fileURLToPath(new URL('../start.mjs', import.meta.url));

const { values } = parseArgs({ options: { folder: { type: 'string', default: 'cluster-demo' } } });
const folder = resolve(values.folder);
const say = (line: string): void => void process.stdout.write(`${line}\n`);

function secretIn(name: string): string {
  const file = join(folder, name);
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString('hex'), { mode: 0o600 });
  return readFileSync(file, 'utf8');
}

/** The service of this checkout, on its own data folder and ports. */
class Node {
  readonly name: string;
  readonly #no: number;
  readonly #environment: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;

  constructor(no: number, environment: Readonly<Record<string, string>>) {
    this.name = `node${no}`;
    this.#no = no;
    this.#environment = environment;
  }

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  get text(): string {
    return `dashboard http://localhost:${ports.api + this.#no}/  links http://localhost:${ports.redirect + this.#no}/…`;
  }

  start(): void {
    const log = openSync(join(folder, `${this.name}.log`), 'a');
    const child = spawn(process.execPath, [program, 'serve', '--role', 'all'], {
      stdio: ['ignore', log, log],
      env: {
        ...process.env,
        ...this.#environment,
        QZ_DATA_DIR: join(folder, this.name),
        QZ_API_HOST: '127.0.0.1',
        QZ_API_PORT: String(ports.api + this.#no),
        QZ_API_PUBLIC_URL: `http://localhost:${ports.api + this.#no}`,
        QZ_METRICS_PORT: String(ports.metrics + this.#no),
        QZ_REDIRECT_HOST: '127.0.0.1',
        QZ_REDIRECT_PORT: String(ports.redirect + this.#no),
        QZ_CLUSTER_NODE_NAME: this.name,
        QZ_CLUSTER_ADVERTISE_URL: `http://127.0.0.1:${ports.api + this.#no}`,
      },
    });
    closeSync(log);
    this.#child = child;
    child.once('close', (code, signal) => {
      this.#child = undefined;
      if (ending === undefined && signal !== 'SIGKILL') say(`${this.name} ended with ${code}`);
    });
  }

  /** SIGKILL is what a machine that loses power looks like to the others. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (this.#child === undefined) return;
    const closed = once(this.#child, 'close');
    this.#child.kill(signal);
    await closed;
  }

  /** As its metrics say. */
  async role(): Promise<string> {
    if (!this.isRunning) return 'down';
    try {
      const signal = AbortSignal.timeout(askMs);
      const answer = await fetch(`http://127.0.0.1:${ports.metrics + this.#no}/metrics`, {
        signal,
      });
      const roles = /^quietzone_cluster_role\{.*role="(active|standby)".*\} 1$/m;
      return roles.exec(await answer.text())?.[1] ?? 'starting';
    } catch {
      return 'starting';
    }
  }
}

let server = await findNatsServer();
if ('missing' in server) {
  say('Fetching a nats-server …');
  const script = fileURLToPath(new URL('fetch-nats-server.ts', import.meta.url));
  say(execFileSync(process.execPath, [script], { encoding: 'utf8' }).trim());
  server = await findNatsServer();
}
if ('missing' in server) {
  say(server.missing);
  process.exit(1);
}
let ending: Promise<void> | undefined;
mkdirSync(folder, { recursive: true });
say(`Starting three brokers (nats-server ${server.version}) and three nodes in ${folder} …`);
const brokers = await startBrokers({
  places: numbers.map((no) => ({
    name: `n${no}`,
    client: ports.client + no,
    route: ports.route + no,
    monitor: ports.monitor + no,
  })),
  folder: join(folder, 'brokers'),
  server,
});
const environment = {
  QZ_CLUSTER_NATS: brokers.urls.join(','),
  QZ_CLUSTER_SECRET: secretIn('secret'),
  QZ_BOOTSTRAP_PASSWORD: secretIn('password'),
  QZ_SHORT_URL_BASE: `http://localhost:${ports.redirect + 1}`,
  // Three nodes share one machine.
  QZ_REDIRECT_THREADS: '1',
  QZ_SCANS_SHARDS: '1',
  QZ_IMAGES_THREADS: '1',
  QZ_WEBHOOKS_THREADS: '1',
};
const nodes = numbers.map((no) => new Node(no, environment));
const all = [...brokers.all, ...nodes];
const terminal = createInterface({
  input: process.stdin,
  output: process.stdout,
  prompt: 'demo> ',
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void end());
terminal.on('SIGINT', () => void end());
terminal.on('close', () => void end());
for (const node of nodes) node.start();
await sayLeader();
await sayStatus();
say(`\n  Sign in   owner@localhost.localdomain\n  Password  ${secretIn('password')}\n${help}`);
/** One after the other, as they were typed. */
let done = Promise.resolve();
terminal.on('line', (line) => void (done = done.then(() => command(line))));
terminal.prompt();

async function findLeader(): Promise<Node | undefined> {
  const roles = await Promise.all(nodes.map((node) => node.role()));
  return nodes[roles.indexOf('active')];
}

/** Waits for it. */
async function sayLeader(): Promise<void> {
  const startedMs = performance.now();
  for (;;) {
    const node = await findLeader();
    const ms = performance.now() - startedMs;
    if (node !== undefined) return say(`${node.name} leads after ${(ms / 1_000).toFixed(1)} s`);
    if (ms > readyMsMax || nodes.every(({ isRunning }) => !isRunning)) {
      return say(`No node leads: see the logs in ${folder}`);
    }
    await pause(pollMs);
  }
}

async function sayStatus(): Promise<void> {
  for (const node of nodes) say(`  ${node.name}  ${(await node.role()).padEnd(8)}  ${node.text}`);
  for (const { name, isRunning } of brokers.all)
    say(`  broker ${name}  ${isRunning ? 'runs' : 'down'}`);
}

async function command(line: string): Promise<void> {
  const words = line.trim();
  const [, what = '', no = 0] = /^kill (active|brokers?|node) ?([1-3])?$/.exec(words) ?? [];
  const broker = brokers.all[Number(no) - 1];
  const node = nodes[Number(no) - 1];
  if (words === 'quit') return end();
  if (words === 'status') await sayStatus();
  else if (words === 'start') {
    for (const one of all) if (!one.isRunning) one.start();
  } else if (what === 'brokers') await Promise.all(brokers.all.map((one) => one.kill()));
  else if (what === 'broker' && broker !== undefined) await broker.kill();
  else if (what === 'node' && node !== undefined) await node.end('SIGKILL');
  else if (what === 'active') {
    const leader = await findLeader();
    await leader?.end('SIGKILL');
    say(
      leader === undefined
        ? 'no node leads now'
        : `${leader.name} is killed; it comes back with: start`,
    );
    if (leader !== undefined) await sayLeader();
  } else if (words !== '') say(help);
  terminal.prompt();
}

/** In the order in which an operator stops a cluster: nodes, then brokers. */
function end(): Promise<void> {
  ending ??= (async () => {
    say('\nStopping …');
    await Promise.all(nodes.map((node) => node.end('SIGTERM')));
    await brokers.close();
    process.exit(0);
  })();
  return ending;
}
