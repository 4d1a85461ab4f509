/** A cluster on this machine: a broker, and nodes as processes of their own, which can be killed and started again. */
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Brokers } from '../../../config/demo/brokers.ts';
import type { NatsServer } from '../../../config/demo/nats-server.ts';
import { logNames, streamOf } from '../../../src/cluster/nats/log-streams.ts';
import { deleteStream } from '../../../src/cluster/nats/nats-stream.ts';
import { scanStream } from '../../../src/cluster/scans/scan-messages.ts';
import { openNats, temporaryBrokers } from '../nats/brokers.ts';
import { CuttablePath } from '../nats/cuttable-path.ts';
import { Client, word } from '../../support/client.ts';
import { freePorts, ServiceProcess, settingsOf } from '../../support/process.ts';
import { type Ports, readMetrics } from '../../support/running-service.ts';
import type { Receiver } from '../../support/fakes/receiver.ts';
import { soon } from '../../support/soon.ts';

/** As small as a service can be: many run side by side. */
const small = {
  QZ_REDIRECT_THREADS: '1',
  QZ_SCANS_SHARDS: '1',
  QZ_IMAGES_THREADS: '1',
  QZ_WEBHOOKS_THREADS: '1',
  QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8',
  QZ_BOOTSTRAP_PLAN: 'enterprise',
};
const secret = 'secret of the nodes in these tests';
const phone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1';

export class TestNode {
  readonly dataDir: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly ports: Ports;
  readonly #role: 'all' | 'edge';
  #service: ServiceProcess | undefined;

  private constructor(
    dataDir: string,
    ports: Ports,
    role: 'all' | 'edge',
    settings: Readonly<Record<string, string>>,
  ) {
    this.dataDir = dataDir;
    this.ports = ports;
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
    return `http://127.0.0.1:${this.ports.api}`;
  }

  get service(): ServiceProcess {
    if (this.#service === undefined) throw new Error('Cannot use the node: it was not started');
    return this.#service;
  }

  /** Its present process runs from here on; ready later. */
  start(): ServiceProcess {
    this.#service = new ServiceProcess({
      dataDir: this.dataDir,
      ports: this.ports,
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
    const url = `http://127.0.0.1:${this.ports.redirect}/${code}`;
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

/** A code that was made for a test, and its scans. */
export class TestCode {
  readonly id: string;
  readonly shortCode: string;
  /** Answered with a target, on any node. */
  scans = 0;

  /** @param made the answer that it was made with */
  constructor(made: Readonly<Record<string, unknown>>) {
    this.id = word(made['id']);
    this.shortCode = new URL(word(made['shortUrl'])).pathname.slice(1);
  }

  /** @returns where it led, or the status of what was answered instead */
  async scan(node: TestNode): Promise<string | number> {
    const led = await node.scan(this.shortCode);
    if (typeof led === 'string') this.scans += 1;
    return led;
  }

  /** As the node that is asked has counted them. */
  async counted(api: Client): Promise<unknown> {
    return (await api.call('GET', `/v1/qr-codes/${this.id}/analytics`)).json['totalScans'];
  }

  async isCounted(by: TestNode, key: string): Promise<void> {
    const api = by.client(key);
    await expect.poll(() => this.counted(api), soon).toBe(this.scans);
    await api.close();
  }
}

/** Ids of the events that an endpoint was sent, of that code or of all, with repeats. */
export const idsSent = ({ requests }: Receiver, code?: Pick<TestCode, 'id'>): string[] =>
  requests.flatMap(({ body }) => {
    const events: Array<{ id: string; data: { qrId: string } }> = [JSON.parse(String(body))].flat();
    return events.filter(({ data }) => (code?.id ?? data.qrId) === data.qrId).map(({ id }) => id);
  });

export class StartedCluster {
  readonly brokers: Brokers;
  /** For data of further nodes. */
  readonly folder: string;
  readonly cores: readonly [TestNode, TestNode];
  readonly edge: TestNode;
  /** The edge's own way to the broker. */
  readonly path: CuttablePath;

  readonly #closeBrokers: () => Promise<void>;

  constructor(
    nodes: Pick<StartedCluster, 'brokers' | 'folder' | 'cores' | 'edge' | 'path'>,
    closeBrokers: () => Promise<void>,
  ) {
    this.#closeBrokers = closeBrokers;
    ({ brokers: this.brokers, folder: this.folder, cores: this.cores } = nodes);
    ({ edge: this.edge, path: this.path } = nodes);
  }

  get nodes(): readonly TestNode[] {
    return [...this.cores, this.edge];
  }

  /** The key that one of the first starts printed, once all of `nodes` are ready. */
  async startAtOnce(nodes: readonly TestNode[]): Promise<string> {
    const services = nodes.map((node) => node.start());
    await Promise.all(services.map((service) => service.ready()));
    const [shown, ...more] = services.filter(({ stdout }) => stdout.includes('API key'));
    expect(more).toEqual([]);
    return shown!.apiKey;
  }

  /** Waits until one core leads and the other one stands by. */
  async roles(): Promise<readonly [leading: TestNode, standby: TestNode]> {
    const [first, second] = this.cores;
    await expect
      .poll(async () => new Set([await first.role(), await second.role()]), soon)
      .toEqual(new Set(['active', 'standby']));
    return (await first.role()) === 'active' ? [first, second] : [second, first];
  }

  async close(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.kill()));
    await this.path.close();
    await this.#closeBrokers();
  }
}

/** A broker and three nodes, none of which runs yet. @param settings of all nodes */
export async function createCluster(
  server: NatsServer,
  settings: Readonly<Record<string, string>> = {},
): Promise<StartedCluster> {
  const { brokers, folder, close } = await temporaryBrokers(server);
  const path = await CuttablePath.open(brokers.all.map(({ port }) => port));
  const core = (name: string): Promise<TestNode> =>
    TestNode.create(folder, name, 'all', brokers.urls, settings);
  const cores = [await core('core-1'), await core('core-2')] as const;
  const edge = await TestNode.create(folder, 'edge-1', 'edge', path.urls, settings);
  return new StartedCluster({ brokers, folder, cores, edge, path }, close);
}

/** As brokers are that have lost their disks. */
export async function deleteStreams({ urls }: Brokers): Promise<void> {
  const connection = await openNats({ servers: urls, nodeName: 'operator' });
  for (const stream of [...logNames.map(streamOf), scanStream]) {
    await deleteStream(connection, stream);
  }
  await connection.close();
}
