/** A cluster on this machine: a broker, and nodes as processes of their own, which can be killed and started again. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Brokers } from '../../config/demo/brokers.ts';
import type { NatsServer } from '../../config/demo/nats-server.ts';
import { startBrokers } from '../cluster/nats/brokers.ts';
import { Client, word } from '../support/client.ts';
import {
  freePorts,
  type Ports,
  readMetrics,
  ServiceProcess,
  settingsOf,
} from '../support/process.ts';

/** As small as a service can be: many run side by side. */
const small = {
  QZ_REDIRECT_THREADS: '1',
  QZ_SCANS_SHARDS: '1',
  QZ_SCANS_WINDOW_MS: '20',
  QZ_IMAGES_THREADS: '1',
  QZ_WEBHOOKS_THREADS: '1',
  QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8',
  QZ_BOOTSTRAP_PLAN: 'enterprise',
  QZ_REDIRECT_UNKNOWN_PER_MINUTE_MAX: '0',
};
const secret = 'secret of the nodes in these tests';
const phone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1';

export class TestNode {
  readonly environment: Readonly<Record<string, string>>;
  readonly #ports: Ports;
  readonly #dataDir: string;
  readonly #role: 'all' | 'edge';
  #service: ServiceProcess | undefined;

  private constructor(
    dataDir: string,
    ports: Ports,
    role: 'all' | 'edge',
    settings: Readonly<Record<string, string>>,
  ) {
    this.#dataDir = dataDir;
    this.#ports = ports;
    this.#role = role;
    const environment = { ...small, ...settings, QZ_CLUSTER_ADVERTISE_URL: this.apiUrl };
    this.environment = settingsOf({ dataDir, ports, environment });
  }

  static async create(
    folder: string,
    name: string,
    role: 'all' | 'edge',
    urls: readonly string[],
    settings: Readonly<Record<string, string>> = {},
  ): Promise<TestNode> {
    return new TestNode(join(folder, name), await freePorts(), role, {
      QZ_CLUSTER_NATS: urls.join(','),
      QZ_CLUSTER_NODE_NAME: name,
      QZ_CLUSTER_REPLICAS: '1',
      ...(role === 'all' && { QZ_CLUSTER_SECRET: secret }),
      ...settings,
    });
  }

  get apiUrl(): string {
    return `http://127.0.0.1:${this.#ports.api}`;
  }

  get service(): ServiceProcess {
    if (this.#service === undefined) throw new Error('Cannot use the node: it was not started');
    return this.#service;
  }

  /** Its present process runs from here on; ready later. */
  start(): ServiceProcess {
    this.#service = new ServiceProcess({
      dataDir: this.#dataDir,
      ports: this.#ports,
      command: ['serve', '--role', this.#role],
      environment: this.environment,
    });
    return this.#service;
  }

  async kill(): Promise<void> {
    await this.#service?.kill();
  }

  client(key: string): Client {
    return new Client(this.apiUrl, key);
  }

  /** One scan. @returns where the link leads, or the status of what is answered instead */
  async scan(code: string): Promise<string | number> {
    const url = `http://127.0.0.1:${this.#ports.redirect}/${code}`;
    const headers = { 'user-agent': phone, connection: 'close' };
    const answer = await fetch(url, { redirect: 'manual', headers });
    await answer.body?.cancel();
    return answer.headers.get('location') ?? answer.status;
  }

  /** As its metrics have it; undefined where they do not answer. */
  async role(): Promise<string | undefined> {
    try {
      const metrics = await readMetrics(this.apiUrl);
      return /quietzone_cluster_role\{role="(\w+)"\} 1/.exec(metrics)?.[1];
    } catch {
      return undefined;
    }
  }
}

/** A code that was made for a test. */
export interface TestCode {
  readonly id: string;
  readonly shortCode: string;
}

/** @param made the answer that it was made with */
export const codeOf = (made: Readonly<Record<string, unknown>>): TestCode => ({
  id: word(made['id']),
  shortCode: new URL(word(made['shortUrl'])).pathname.slice(1),
});

/** Its scans, as the node that is asked has counted them. */
export async function scansCounted(api: Client, { id }: TestCode): Promise<unknown> {
  const answer = await api.call('GET', `/v1/qr-codes/${id}/analytics`);
  return answer.json['totalScans'];
}

export interface StartedCluster {
  readonly brokers: Brokers;
  /** For data of further nodes. */
  readonly folder: string;
  readonly cores: readonly [TestNode, TestNode];
  readonly edge: TestNode;
  close(): Promise<void>;
}

/** A broker and three nodes, none of which runs yet. */
export async function createCluster(server: NatsServer): Promise<StartedCluster> {
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-cluster-'));
  const brokers = await startBrokers({ count: 1, folder: join(folder, 'brokers'), server });
  const create = (name: string, role: 'all' | 'edge'): Promise<TestNode> =>
    TestNode.create(folder, name, role, brokers.urls);
  const cores = [await create('core-1', 'all'), await create('core-2', 'all')] as const;
  const edge = await create('edge-1', 'edge');
  return {
    brokers,
    folder,
    cores,
    edge,
    close: async () => {
      await brokers.close();
      rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
