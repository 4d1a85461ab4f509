/**
 * The management API on a real socket and a real store in a temporary folder, in this process.
 * Scans and images, which have threads behind them, are stood in for by what a test hands in.
 */
import { createHash, webcrypto } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApi } from '../../src/api/api.ts';
import type { HealthReport, ImageDrawing, ScanReport } from '../../src/api/services.ts';
import type { Analytics, BreakdownRow, SeriesPoint } from '../../src/scans/report.ts';
import type { Billing } from '../../src/billing/billing.ts';
import { openBilling } from '../../src/billing/open-billing.ts';
import { CodeBook } from '../../src/codes/code-book.ts';
import { loadConfig, type Config } from '../../src/config.ts';
import { ClientAddresses } from '../../src/http/client-address.ts';
import { HttpServer } from '../../src/http/server.ts';
import type { Link } from '../../src/links/layout.ts';
import type { StoredLinkBytes } from '../../src/links/writer.ts';
import { InviteMailer } from '../../src/mail/invite-letter.ts';
import { Mailer } from '../../src/mail/mailer.ts';
import type { Clock } from '../../src/model/clock.ts';
import type { EventEnvelope } from '../../src/model/event.ts';
import { createIdSource, type IdSource, type RandomBytes } from '../../src/model/ids.ts';
import type { Plan, Role } from '../../src/model/workspace.ts';
import { Outbox } from '../../src/outbox/outbox.ts';
import { openManagement, type Management } from '../../src/store/management.ts';
import { systemClock } from '../../src/system-clock.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { Metrics } from '../../src/telemetry/metrics.ts';
import { openWorkspaceServices, type WorkspaceServices } from '../../src/workspaces/services.ts';

const randomBytes: RandomBytes = (bytes) => webcrypto.getRandomValues(bytes);

/** Scans as a test wants them. */
import { adoptedLink } from './adopted-link.ts';

export class StandInReport implements ScanReport {
  readonly lifetime = new Map<number, number>();
  readonly asked: string[] = [];
  scanned: EventEnvelope[] = [];
  failure: Error | undefined;

  lifetimeScans(codeNo: number): number {
    return this.lifetime.get(codeNo) ?? 0;
  }
  analytics(codeNo: number, fromDay: number, toDay: number): Analytics {
    if (this.failure !== undefined) throw this.failure;
    this.asked.push(`${codeNo} ${fromDay} ${toDay}`);
    const totalScans = this.lifetimeScans(codeNo);
    const devices = { ios: totalScans, android: 0, other: 0 };
    return { totalScans, uniqueScanners: totalScans, devices, topCountries: [] };
  }
  timeseries(_codeNo: number, fromDay: number, toDay: number): SeriesPoint[] {
    const points: SeriesPoint[] = [];
    for (let day = fromDay; day <= toDay; day += 1) {
      points.push({ start: new Date(day * 86_400_000).toISOString(), scans: 0 });
    }
    return points;
  }
  breakdown(): BreakdownRow[] {
    return [{ key: 'DE', scans: 2 }];
  }
  events(_workspaceNo: number, before: string | undefined, limit: number) {
    const start = before === undefined ? 0 : this.scanned.findIndex((e) => e.id === before) + 1;
    const data = this.scanned.slice(start, start + limit);
    const last = data.at(-1);
    const isMore = start + limit < this.scanned.length;
    return isMore && last !== undefined ? { data, before: last.id } : { data };
  }
}

/** Images that say what was asked for. */
const standInImages: ImageDrawing = {
  render: async (request) => {
    const bytes = Buffer.from(JSON.stringify(request));
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
    const contentType = request.format === 'png' ? 'image/png' : 'image/svg+xml';
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
  readonly images?: ImageDrawing;
}

export interface Service {
  readonly url: string;
  readonly port: number;
  readonly apiKey: string;
  readonly config: Config;
  readonly codes: CodeBook;
  readonly billing: Billing;
  readonly report: StandInReport;
  readonly workspaces: WorkspaceServices;
  readonly server: HttpServer;
  /** What the link table was told, newest state by key. */
  readonly links: ReadonlyMap<string, Link>;
  readonly logLines: readonly string[];
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
  const { store, workspaces, codes, report, links } = rooms;
  const first = await workspaces.workspaces.bootstrap(config.bootstrap);
  const state: { health: HealthReport } = { health: { ready: true, checks: [] } };
  const images = options.images ?? standInImages;
  const opened = await openApi(rooms, config, images, () => state.health);
  const { server, billing, logLines } = opened;
  return {
    url: `http://127.0.0.1:${server.port}`,
    port: server.port,
    apiKey: first?.apiKey ?? '',
    config,
    codes,
    billing,
    report,
    workspaces,
    server,
    links,
    logLines,
    get health() {
      return state.health;
    },
    set health(report) {
      state.health = report;
    },
    keyOf: (role) => keyOf(workspaces, config, role),
    async stop() {
      opened.close();
      await workspaces.close();
      await store.close();
      if (options.dataDir === undefined) await rm(dataDir, { recursive: true });
    },
  };
}

interface Rooms {
  readonly clock: Clock;
  readonly ids: IdSource;
  readonly store: Management;
  readonly outbox: Outbox;
  readonly codes: CodeBook;
  readonly workspaces: WorkspaceServices;
  readonly report: StandInReport;
  readonly links: Map<string, Link>;
}

function openRooms(dataDir: string, { shortUrlBase }: Config, clock: Clock): Rooms {
  const ids = createIdSource(clock, randomBytes);
  const store = openManagement(join(dataDir, 'management.mdb'));
  const outbox = new Outbox(store, ids, clock);
  const links = new Map<string, Link>();
  const report = new StandInReport();
  const codes = new CodeBook({
    store,
    outbox,
    links: recordingLinks(links),
    ids,
    clock,
    randomBytes,
    shortUrlBase,
    scansOf: (codeNo) => report.lifetimeScans(codeNo),
  });
  const workspaces = openWorkspaceServices({ store, ids, clock, randomBytes, dataDir });
  return { clock, ids, store, outbox, codes, workspaces, report, links };
}

interface OpenedApi {
  readonly server: HttpServer;
  readonly billing: Billing;
  readonly logLines: string[];
  close(): void;
}

async function openApi(
  { clock, ids, store, codes, workspaces, outbox, report }: Rooms,
  config: Config,
  images: ImageDrawing,
  health: () => HealthReport,
): Promise<OpenedApi> {
  const logLines: string[] = [];
  const log = createLog('debug', { write: (line) => void logLines.push(line) });
  const metrics = new Metrics((metric, error) => log.error({ metric, err: error }, 'collect'));
  const plans = workspaces.workspaces;
  const billing = await openBilling(config, { store, outbox, ids, clock, log, plans });
  const rooms = { codes, workspaces, outbox, billing, report, images };
  const mailer = config.mail.host === '' ? undefined : new Mailer(config.mail, log, [20, 40]);
  const mail = mailer === undefined ? undefined : new InviteMailer(mailer);
  const parts = { config, clock, log, ...rooms, mail, health, metrics };
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
  return { server, billing, logLines, close };
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
    adopt: (stored: StoredLinkBytes) => {
      const link = adoptedLink(stored);
      links.set(link.key, link);
    },
    put: (link: Link) => void links.set(link.key, link),
    retire: (key: string) => {
      const known = links.get(key);
      if (known !== undefined) links.set(key, { ...known, state: 'gone' });
    },
  };
}
