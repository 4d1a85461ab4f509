/** A core that feeds edges with links: its codes, and the feed on a socket; and a replica with a link table of its own. */
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { LinkFeed } from '../../../src/cluster/links/link-feed.ts';
import { LinkReplica } from '../../../src/cluster/links/link-replica.ts';
import { ReplicaStore } from '../../../src/cluster/links/replica-store.ts';
import type { Codes } from '../../../src/product/codes/codes.ts';
import { LinkLoader } from '../../../src/product/codes/links/link-loader.ts';
import { ClientAddresses } from '../../../src/platform/uws/client-address.ts';
import type { Reply, Request } from '../../../src/platform/uws/request.ts';
import { HttpServer } from '../../../src/api/server/server.ts';
import type { TlsFiles } from '../../../src/platform/uws/port.ts';
import { createLinkTableMemory } from '../../../src/engine/links/layout.ts';
import { LinkReader } from '../../../src/engine/links/reader.ts';
import { LinkWriter } from '../../../src/engine/links/writer.ts';
import { replicaTable } from '../../../src/cluster/roles/open-edge.ts';
import { type Management, openManagement } from '../../../src/store/management/management.ts';
import { systemClock } from '../../../src/platform/system-clock.ts';
import { createLog } from '../../../src/platform/log.ts';
import { openTestApp, type TestApp } from '../../support/test-app.ts';

type Draft = Parameters<Codes['create']>[1];

const edgeToken = 'edge-1.token';
const notFound: Reply = { status: 404, headers: {} };

export class FeedServer {
  readonly app: TestApp;
  readonly feed: LinkFeed;
  #server: HttpServer | undefined;
  #requests = 0;
  cluster = 'cl_1';
  isLeading = true;
  isCurrent = true;
  /** Scans that count as counted, of limited codes, by number. */
  readonly totals = new Map<number, number>();
  /** Positions that edges asked for, each once in a row; `all` without one, `more` after a part of all. */
  readonly asked: string[] = [];

  readonly #tls: TlsFiles | undefined;

  private constructor(app: TestApp, tls: TlsFiles | undefined) {
    this.app = app;
    this.#tls = tls;
    this.feed = new LinkFeed({
      store: app.store,
      clock: systemClock,
      cluster: () => this.cluster,
      isLeading: () => this.isLeading,
      isCurrent: () => this.isCurrent,
      isEdge: (given) => given === edgeToken,
      limitedTotals: () => this.totals,
      docsUrl: 'http://localhost/docs',
    });
  }

  static async open(app?: TestApp, tls?: TlsFiles): Promise<FeedServer> {
    const server = new FeedServer(app ?? (await openTestApp()), tls);
    await server.listen();
    onTestFinished(() => server.close());
    return server;
  }

  /** A code of `https://example.com/`. */
  create(slug: string, more: Partial<Draft> = {}): ReturnType<Codes['create']> {
    return this.app.codes.create(this.app.actor, { target: 'https://example.com/', slug, ...more });
  }

  change(
    { id }: { readonly id: string },
    change: Parameters<Codes['change']>[2],
  ): ReturnType<Codes['change']> {
    return this.app.codes.change(this.app.actor, id, change);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#server?.port}`;
  }

  /** On a free port. */
  async listen(): Promise<void> {
    this.#server = await HttpServer.open({
      host: '127.0.0.1',
      port: 0,
      ...(this.#tls && { tls: this.#tls }),
      addresses: new ClientAddresses([]),
      newRequestId: () => `req_${(this.#requests += 1)}`,
      handler: {
        handle: async (request) => this.#answer(request),
        refuse: () => notFound,
      },
      onDefect: (error) => {
        throw error;
      },
    });
  }

  async #answer(request: Request): Promise<Reply> {
    const parameters = new URLSearchParams(request.query);
    const number = parameters.has('next') ? 'more' : (parameters.get('number') ?? 'all');
    if (this.asked.at(-1) !== number) this.asked.push(number);
    return (await this.feed.reply(request)) ?? notFound;
  }

  /** As a network that is cut: connections end, and none can be made. */
  cut(): void {
    this.#server?.close();
  }

  close(): void {
    this.feed.close();
    this.cut();
  }
}

export interface OpenReplica {
  readonly replica: LinkReplica;
  readonly store: Management;
  readonly writer: LinkWriter;
  /** Target of a live link, `unknown`, or what became of it. */
  see(code: string): string;
  /** As a scan does. */
  scan(code: string): void;
  close(): Promise<void>;
}

export async function openReplica(
  folder: string,
  cores: () => readonly string[],
): Promise<OpenReplica> {
  const log = createLog('silent');
  const store = openManagement(join(folder, 'management.mdb'), 'create');
  const memory = createLinkTableMemory({
    slotBytesMax: 2 ** 24,
    arenaBytesMax: 2 ** 28,
    readersMax: 1,
    linksExpected: 16,
  });
  const writer = new LinkWriter(memory, systemClock);
  const reader = new LinkReader(memory, 0);
  const copy = new ReplicaStore(store);
  const links = new LinkLoader(store, writer, (codeNo) => copy.scansOf(codeNo));
  const replica = new LinkReplica({
    store: copy,
    table: replicaTable(links, writer, { log, clock: systemClock }),
    onFilled: () => Promise.resolve(),
    onCounted: () => void links.closeLimits(),
    clock: systemClock,
    random: () => 0.5,
    log,
    cores,
    token: () => edgeToken,
  });
  await replica.open();
  let isClosed = false;
  const close = async (): Promise<void> => {
    if (isClosed) return;
    isClosed = true;
    await replica.close();
    await store.close();
  };
  onTestFinished(close);
  const see = (code: string): string => {
    const handle = reader.find(`/${code}`, 1);
    if (handle === 0) return 'unknown';
    const state = reader.state(handle);
    if (state !== 'live') return state;
    if (reader.scansLeft(handle) === 0) return 'over its limit';
    return Buffer.from(reader.target(handle)).toString('latin1');
  };
  const scan = (code: string): void => void reader.takeScan(reader.find(`/${code}`, 1));
  return { replica, store, writer, see, scan, close };
}
