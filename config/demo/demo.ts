/**
 * A cluster on one machine, in one folder: three brokers and three nodes, which can be killed and started again.
 *
 *   <folder>/brokers/    what the brokers store
 *   <folder>/node1/ …    data folders, with node1.log … beside them
 *   <folder>/secret      the secret of the cluster
 *   <folder>/owner.txt   sign-in and key of the first owner, shown once by the service and kept here for the demo
 */
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Brokers, type Place, startBrokers } from './brokers.ts';
import { DemoNode } from './node.ts';
import type { NatsServer } from './nats-server.ts';

/** Beside the usual ports of Quietzone and NATS, which may be in use. */
const firstPorts = { api: 8090, redirect: 8190, client: 4290, route: 6290, monitor: 8290 };
const count = 3;
const readyMsMax = 120_000;
const pollMs = 100;
const ownerMsMax = 10_000;

export type Say = (line: string) => void;

export class Demo {
  readonly #folder: string;
  readonly #say: Say;
  readonly #brokers: Brokers;
  readonly nodes: readonly DemoNode[];
  #printed = '';
  #isClosing = false;

  private constructor(folder: string, say: Say, brokers: Brokers) {
    this.#folder = folder;
    this.#say = say;
    this.#brokers = brokers;
    this.nodes = numbers.map((no) => this.#node(no));
  }

  /** Resolves when one node leads. */
  static async open(folder: string, server: NatsServer, say: Say): Promise<Demo> {
    mkdirSync(folder, { recursive: true });
    say(`Starting three brokers (nats-server ${server.version}) and three nodes in ${folder} …`);
    const brokers = await startBrokers({
      places: numbers.map(placeOf),
      folder: join(folder, 'brokers'),
      server,
    });
    const demo = new Demo(folder, say, brokers);
    try {
      for (const node of demo.nodes) node.start();
      await demo.waitForLeader();
      await demo.#waitForOwner();
      return demo;
    } catch (error) {
      await demo.close();
      throw error;
    }
  }

  /** Undefined until the node that led first has shown it. */
  get owner(): string | undefined {
    const file = join(this.#folder, 'owner.txt');
    return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  }

  async active(): Promise<DemoNode | undefined> {
    const roles = await Promise.all(this.nodes.map((node) => node.role()));
    return this.nodes[roles.indexOf('active')];
  }

  /** It is shown a moment after the first node leads; once only, so that a start that was ended then has none. */
  async #waitForOwner(): Promise<void> {
    const untilMs = performance.now() + ownerMsMax;
    while (this.owner === undefined && performance.now() < untilMs) await pause(pollMs);
  }

  /** @returns the node that leads, and after how many milliseconds it did */
  async waitForLeader(): Promise<{ readonly node: DemoNode; readonly ms: number }> {
    const startedMs = performance.now();
    for (;;) {
      const node = await this.active();
      const ms = performance.now() - startedMs;
      if (node !== undefined) return { node, ms };
      if (ms > readyMsMax || this.nodes.every(({ isUp }) => !isUp)) {
        throw new Error(`No node leads: see the logs in ${this.#folder}`);
      }
      await pause(pollMs);
    }
  }

  /** @param no from 1; undefined = all */
  async killBrokers(no?: number): Promise<void> {
    const all = this.#brokers.all;
    const chosen = no === undefined ? all : all.slice(no - 1, no);
    await Promise.all(chosen.map((broker) => broker.kill()));
    for (const { name } of chosen) this.#say(`broker ${name} is killed`);
  }

  /** Whatever is down. */
  startAll(): void {
    for (const broker of this.#brokers.all) {
      if (broker.isRunning) continue;
      broker.start();
      this.#say(`broker ${broker.name} is started`);
    }
    for (const node of this.nodes) {
      if (node.isUp) continue;
      node.start();
      this.#say(`${node.name} is started`);
    }
  }

  async status(): Promise<string[]> {
    const brokers = this.#brokers.all.map(
      ({ name, isRunning }) => `broker ${name}  ${isRunning ? 'runs' : 'down'}`,
    );
    const nodes = this.nodes.map(
      async (node) =>
        `${node.name}  ${(await node.role()).padEnd(8)}  dashboard ${node.apiUrl}/  links ${node.linkUrl}/…`,
    );
    return [...(await Promise.all(nodes)), ...brokers];
  }

  /** In the order in which an operator stops a cluster: nodes, then brokers. */
  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all(this.nodes.map((node) => node.stop()));
    await this.#brokers.close();
  }

  #node(no: number): DemoNode {
    return new DemoNode({
      name: `node${no}`,
      folder: this.#folder,
      apiPort: firstPorts.api + no,
      redirectPort: firstPorts.redirect + no,
      environment: {
        QZ_CLUSTER_NATS: this.#brokers.urls.join(','),
        QZ_CLUSTER_SECRET: secretIn(this.#folder),
        QZ_SHORT_URL_BASE: `http://localhost:${firstPorts.redirect + 1}`,
        // Three nodes share one machine.
        QZ_REDIRECT_THREADS: '1',
        QZ_SCANS_SHARDS: '1',
        QZ_IMAGES_THREADS: '1',
        QZ_WEBHOOKS_THREADS: '1',
      },
      onPrinted: (text) => this.#print(text),
      onEnded: ({ name }, how) => {
        if (!this.#isClosing && how !== 'SIGKILL') this.#say(`${name} ended with ${how}`);
      },
    });
  }

  /** The first owner's sign-in comes once, from the node that leads first. */
  #print(text: string): void {
    this.#printed = (this.#printed + text).slice(-64 * 1024);
    const found = /^ *(Sign in +\S+)\s+(Password +\S+)\s+(API key +\S+)$/m.exec(this.#printed);
    if (found === null || this.owner !== undefined) return;
    const owner = `${found.slice(1).join('\n')}\n`;
    writeFileSync(join(this.#folder, 'owner.txt'), owner, { mode: 0o600 });
  }
}

const numbers = Array.from({ length: count }, (_, at) => at + 1);

const placeOf = (no: number): Place => ({
  name: `n${no}`,
  client: firstPorts.client + no,
  route: firstPorts.route + no,
  monitor: firstPorts.monitor + no,
});

function secretIn(folder: string): string {
  const file = join(folder, 'secret');
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString('hex'), { mode: 0o600 });
  return readFileSync(file, 'utf8');
}
