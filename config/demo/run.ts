/**
 * `npm run cluster:demo -- [--folder cluster-demo]`: a cluster of three brokers and three nodes on this machine. It prints
 * who leads and the process id of each; one that you kill is started again after 15 s. Ctrl-C stops all of them; the folder
 * can be deleted afterwards.
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
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Broker, startBrokers } from './brokers.ts';
import { findNatsServer } from './nats-server.ts';

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
const pollMs = 200;
const askMs = 1_000;
const restartMs = 15_000;
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

  get pid(): number | undefined {
    return this.#child?.pid;
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
    child.once('close', () => (this.#child = undefined));
  }

  async end(): Promise<void> {
    if (this.#child === undefined) return;
    const closed = once(this.#child, 'close');
    this.#child.kill('SIGTERM');
    await closed;
  }

  /** By its metrics. */
  async isLeader(): Promise<boolean> {
    if (this.#child === undefined) return false;
    try {
      const signal = AbortSignal.timeout(askMs);
      const url = `http://127.0.0.1:${ports.metrics + this.#no}/metrics`;
      const text = await (await fetch(url, { signal })).text();
      return /^quietzone_cluster_role\{.*role="active".*\} 1$/m.test(text);
    } catch {
      return false;
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
const ending = new AbortController();
const { signal: ended } = ending;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void end());
for (const node of nodes) node.start();
for (const node of nodes) say(`  ${node.name}  ${node.text}`);
say(`\n  Sign in   owner@localhost.localdomain\n  Password  ${secretIn('password')}\n`);
for (const one of [...brokers.all, ...nodes]) void supervise(one);
await reportLeaders();

/** Starts it again a while after its end. */
async function supervise(one: Node | Broker): Promise<void> {
  const what = one instanceof Broker ? 'broker ' : '';
  while (!ended.aborted) {
    say(`${what}${one.name} runs: kill -9 ${one.pid}`);
    while (one.pid !== undefined) await pause(pollMs);
    if (ended.aborted) return;
    say(`${what}${one.name} ended, it starts again in ${restartMs / 1_000} s`);
    await pause(restartMs);
    if (!ended.aborted) one.start();
  }
}

async function reportLeaders(): Promise<void> {
  let known: string | undefined;
  for (; !ended.aborted; await pause(pollMs)) {
    const leads = await Promise.all(nodes.map((node) => node.isLeader()));
    const leader = nodes[leads.indexOf(true)]?.name;
    if (leader !== known) say(leader === undefined ? 'no node leads' : `${leader} leads`);
    known = leader;
  }
}

/** In the order in which an operator stops a cluster: nodes, then brokers. */
async function end(): Promise<void> {
  if (ended.aborted) return;
  ending.abort();
  say('\nStopping …');
  await Promise.all(nodes.map((node) => node.end()));
  await brokers.close();
  process.exit(0);
}
