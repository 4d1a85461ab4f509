/**
 * The management API on a real socket and a real store in a temporary folder, in this process.
 * Scans and images, which have threads behind them, are stood in for by what a test hands in.
 */
import { createHash, webcrypto } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApi } from '../../src/api/api.ts';
import type { ImageDrawing } from '../../src/api/services.ts';
import type { HealthReport } from '../../src/telemetry/health.ts';
import type { Subject } from '../../src/scans/query/analytics.ts';
import type { ScanQueries } from '../../src/scans/query/queries.ts';
import type { Billing } from '../../src/billing/billing.ts';
import { openBilling } from '../../src/billing/open-billing.ts';
import { openCampaigns } from '../../src/campaigns/open-campaigns.ts';
import { Codes } from '../../src/codes/codes.ts';
import { loadConfig, type Config } from '../../src/config.ts';
import { ClientAddresses } from '../../src/http/client-address.ts';
import { HttpServer } from '../../src/http/server.ts';
import { ImageCache } from '../../src/images/image-cache.ts';
import { assembleImages, type Images } from '../../src/images/image-service.ts';
import { localTasks } from '../../src/images/tasks.ts';
import type { Link } from '../../src/links/layout.ts';
import type { StoredLinkBytes } from '../../src/links/writer.ts';
import { InviteMailer } from '../../src/mail/invite-letter.ts';
import { Mailer } from '../../src/mail/mailer.ts';
import type { Clock } from '../../src/model/clock.ts';
import type { DayRange } from '../../src/model/day.ts';
import type { EventEnvelope } from '../../src/model/event.ts';
import { createIdSource, type IdSource, type RandomBytes } from '../../src/model/ids.ts';
import type { Plan, Role } from '../../src/model/workspace.ts';
import { Outbox } from '../../src/outbox/outbox.ts';
import { openManagement, type Management } from '../../src/store/management/management.ts';
import { systemClock } from '../../src/system-clock.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { Signal } from '../../src/model/signal.ts';
import { Metrics } from '../../src/telemetry/metrics.ts';
import type { Webhooks } from '../../src/webhooks/open-webhooks.ts';
import { openWorkspaceServices, type WorkspaceServices } from '../../src/workspaces/services.ts';
import { startWebhooks } from './webhooks.ts';

const randomBytes: RandomBytes = (bytes) => webcrypto.getRandomValues(bytes);

import { loadedLink } from './loaded-link.ts';

/** Scans as a test wants them: the lifetime's of every code, on any day. */
export class StandInScans implements ScanQueries {
  readonly lifetime = new Map<number, number>();
  readonly asked: string[] = [];
  scanned: EventEnvelope[] = [];
  failure: Error | undefined;

  readonly analytics: ScanQueries['analytics'] = {
    lifetimeScans: (codeNo) => this.lifetime.get(codeNo) ?? 0,
    totals: async (subject, range) => {
      const totalScans = this.#scansOf(subject, range);
      const devices = { ios: totalScans, android: 0, other: 0 };
      return { totalScans, uniqueScanners: totalScans, devices, topCountries: [] };
    },
    series: async (_subject, { fromDay, toDay }) =>
      Array.from({ length: toDay - fromDay + 1 }, (_, at) => ({
        start: new Date((fromDay + at) * 86_400_000).toISOString(),
        scans: 0,
      })),
    breakdown: async (subject, range) => [
      { key: 'DE', scans: 'codes' in subject ? this.#scansOf(subject, range) : 2 },
    ],
    scansByCode: async (codes, range) =>
      Array.from(codes, (codeNo) => ({
        codeNo,
        scans: this.#scansOf({ code: codeNo }, range),
      })).filter(({ scans }) => scans > 0),
  };
  readonly topCodes = { find: async () => [] };
  readonly raw = { begin: () => undefined, step: () => ({ scans: [], next: undefined }) };
  readonly events: ScanQueries['events'] = {
    newest: () => ({ sequence: 1, entry: 0 }),
    after: (_workspaceNo, place) => ({ events: [], place, hasMore: false }),
    isPast: () => false,
    page: (_workspaceNo, before, limit) => {
      const start = before === undefined ? 0 : this.scanned.findIndex((e) => e.id === before) + 1;
      const data = this.scanned.slice(start, start + limit);
      const last = data.at(-1);
      const isMore = start + limit < this.scanned.length;
      return isMore && last !== undefined ? { data, before: last.id } : { data };
    },
  };

  #scansOf(subject: Subject, { fromDay, toDay }: DayRange): number {
    if (this.failure !== undefined) throw this.failure;
    if (fromDay > toDay) return 0;
    const codes =
      'codes' in subject ? [...subject.codes] : 'code' in subject ? [subject.code] : [0];
    for (const codeNo of codes) this.asked.push(`${codeNo} ${fromDay} ${toDay}`);
    return codes.reduce((sum, codeNo) => sum + (this.lifetime.get(codeNo) ?? 0), 0);
  }
}

/** Images that say what was asked for. */
const standInImages: ImageDrawing = {
  render: async (request) => {
    const bytes = Buffer.from(JSON.stringify(request));
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
    const contentType = request.format === 'svg' ? 'image/svg+xml' : `image/${request.format}`;
    return { bytes, etag, contentType };
  },
};

export interface ServiceOptions {
  readonly plan?: Plan;
  readonly clock?: Clock;
  /** An existing data folder, kept when the service stops: for restarts. */
  readonly dataDir?: string;
  /** `QZ_…` variables. */
  readonly environment?: Readonly<Record<string, string>>;
  /** `drawn`: by this thread, as the pool's would. Default: a stand-in that says what was asked for. */
  readonly images?: ImageDrawing | 'drawn';
  /** In place of the stand-in, for what the API reads of scans. */
  readonly scans?: ScanQueries;
}

export interface Service {
  readonly url: string;
  readonly port: number;
  readonly apiKey: string;
  readonly config: Config;
  readonly codes: Codes;
  readonly billing: Billing;
  readonly scans: StandInScans;
  readonly workspaces: WorkspaceServices;
  readonly webhooks: Webhooks;
  readonly server: HttpServer;
  /** What the link table was told, newest state by key. */
  readonly links: ReadonlyMap<string, Link>;
  readonly logLines: readonly string[];
  /** To be fired when a window was committed, and when the service stops. */
  readonly windows: Signal;
  readonly stopping: Signal;
  health: HealthReport;
  /** A key of the first workspace. */
  keyOf(role: Role): Promise<string>;
  stop(): Promise<void>;
}

export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'quietzone-test-')));
  const config = loadConfig(undefined, {
    QZ_DATA_DIR: dataDir,
    QZ_BOOTSTRAP_PLAN: options.plan ?? 'enterprise',
    ...options.environment,
  });
  const rooms = openRooms(dataDir, config, options.clock ?? systemClock);
  const { store, workspaces, codes, scans, links } = rooms;
  const first = await workspaces.workspaces.bootstrap(config.bootstrap);
  const state: { health: HealthReport } = { health: { ready: true, checks: [] } };
  const images = options.images === 'drawn' ? rooms.drawn.service : options.images;
  const given = { ...rooms, scanQueries: options.scans ?? scans };
  const opened = await openApi(given, config, images ?? standInImages, () => state.health);
  const { server, billing, logLines, webhooks, windows, stopping } = opened;
  return {
    url: `http://127.0.0.1:${server.port}`,
    port: server.port,
    apiKey: first?.apiKey ?? '',
    config,
    codes,
    billing,
    scans,
    workspaces,
    webhooks,
    server,
    links,
    logLines,
    windows,
    stopping,
    get health() {
      return state.health;
    },
    set health(report) {
      state.health = report;
    },
    keyOf: (role) => keyOf(workspaces, config, role),
    async stop() {
      opened.close();
      await webhooks.close();
      await workspaces.close();
      await store.close();
      if (options.dataDir === undefined) await rm(dataDir, { recursive: true, maxRetries: 3 });
    },
  };
}

interface Rooms {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly store: Management;
  readonly outbox: Outbox;
  readonly codes: Codes;
  readonly drawn: Pick<Images, 'service' | 'logos' | 'designs'>;
  readonly workspaces: WorkspaceServices;
  readonly scans: StandInScans;
  readonly links: Map<string, Link>;
}

function openRooms(dataDir: string, { shortUrlBase, images }: Config, clock: Clock): Rooms {
  const ids = createIdSource(clock, randomBytes);
  const store = openManagement(join(dataDir, 'management.mdb'));
  const outbox = new Outbox(store, ids, clock);
  const links = new Map<string, Link>();
  const scans = new StandInScans();
  const stores = { store, clock, dataDir, shortUrlBase };
  const drawn = assembleImages({ ...images, ...stores }, localTasks);
  const codes = new Codes({
    store,
    outbox,
    links: recordingLinks(links),
    ids,
    clock,
    randomBytes,
    shortUrlBase,
    scansOf: (codeNo) => scans.analytics.lifetimeScans(codeNo),
    designs: drawn.designs,
  });
  const workspaces = openWorkspaceServices({
    store,
    ids,
    clock,
    randomBytes,
    dataDir,
    passwordCostLog2: 4,
  });
  return { clock, ids, store, outbox, codes, drawn, workspaces, scans, links };
}

interface GivenRooms extends Rooms {
  readonly scanQueries: ScanQueries;
}

interface OpenedApi {
  readonly server: HttpServer;
  readonly webhooks: Webhooks;
  readonly billing: Billing;
  readonly logLines: string[];
  readonly windows: Signal;
  readonly stopping: Signal;
  close(): void;
}

async function openApi(
  { clock, ids, store, codes, drawn, workspaces, outbox, scanQueries: scans }: GivenRooms,
  config: Config,
  images: ImageDrawing,
  health: () => HealthReport,
): Promise<OpenedApi> {
  const logLines: string[] = [];
  const log = createLog('debug', { write: (line) => void logLines.push(line) });
  const metrics = new Metrics((metric, error) => log.error({ metric, err: error }, 'collect'));
  const plans = workspaces.workspaces;
  const billing = await openBilling(config, { store, outbox, ids, clock, log, plans });
  const campaigns = openCampaigns({ store, outbox, ids, clock, codes, scans: scans.analytics });
  const { designs, logos } = drawn;
  const rooms = { codes, campaigns, workspaces, outbox, billing, scans, images, designs, logos };
  const webhooks = startWebhooks(config.dataDir, config, {
    management: store,
    outbox,
    ids,
    clock,
    randomBytes,
    cipher: workspaces.cipher,
    log,
    metrics,
  });
  const mailer = config.mail.host === '' ? undefined : new Mailer(config.mail, log, [20, 40]);
  const mail = mailer === undefined ? undefined : new InviteMailer(mailer);
  const windows = new Signal();
  const stopping = new Signal();
  const committed = [store.environment.committed, windows];
  const imageCache = new ImageCache(config.images.cacheBytesMax, committed);
  const signals = { committed, imageCache, stopping };
  const parts = { config, clock, ids, log, ...rooms, ...signals, webhooks, mail, health, metrics };
  const server = await HttpServer.open({
    host: '127.0.0.1',
    port: 0,
    bodyBytesMax: config.api.bodyBytesMax,
    bodyTimeoutMs: config.api.bodyTimeoutMs,
    inFlightMax: config.api.inFlightMax,
    addresses: new ClientAddresses(config.trustedProxies),
    newRequestId: () => ids.newId('req'),
    handler: createApi(parts),
    onDefect: (error, requestId) => log.error({ err: error, requestId }, 'defect'),
  });
  const close = (): void => {
    server.close();
    mailer?.close();
  };
  return { server, billing, logLines, webhooks, windows, stopping, close };
}

async function keyOf(workspaces: WorkspaceServices, config: Config, role: Role): Promise<string> {
  const [workspace] = workspaces.workspaces.all();
  const user = workspaces.users.findByEmail(config.bootstrap.email);
  if (workspace === undefined || user === undefined) {
    throw new Error('Cannot make a key: there is no first workspace, expected a bootstrap');
  }
  const request = { workspaceNo: workspace.no, userId: user.id, name: role, role };
  return (await workspaces.keys.create(request)).token;
}

function recordingLinks(links: Map<string, Link>) {
  return {
    bulkLoad: (stored: StoredLinkBytes) => {
      const link = loadedLink(stored);
      links.set(link.key, link);
    },
    put: (link: Link) => void links.set(link.key, link),
    delete: (key: string) => {
      const known = links.get(key);
      if (known !== undefined) links.set(key, { ...known, state: 'gone' });
    },
    addScans: (key: string, scans: number) => {
      const known = links.get(key);
      if (known !== undefined) links.set(key, { ...known, scansLeft: known.scansLeft + scans });
    },
  };
}
