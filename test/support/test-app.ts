/**
 * The application as tests open it: the wiring of the service (`src/app/modules.ts`) in this process, on real LMDB in
 * a temporary folder, with a clock that stands until it is moved, and password hashes that cost nothing.
 *
 *   const app = await openTestApp();                    a module is opened when it is first asked for
 *   await app.codes.create(app.actor, {...});
 *   const again = await app.restart();                  the same folder and clock, as after a restart
 *
 *   const app = await startTestApi({ plan: 'free' });   with the API on a socket: app.url, app.apiKey
 *
 * What a test opens is closed when it ends; what a `beforeAll` opens is closed by its file. Closing checks that no
 * file of the data folder is left open, and that nobody listens on the port any more.
 * What stands outside is faked, unless a test hands in another: scans (`scans`), the link table (`links`), drawn
 * images (`images`), where campaigns ask how far counting is (`counting`). A thread that sends webhooks is started
 * by the first attempt.
 */
import { getRandomValues } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, TestRunner } from 'vitest';
import { ApiServer } from '../../src/api/api.ts';
import type { Billing } from '../../src/product/billing/billing.ts';
import type { PaymentProvider } from '../../src/product/billing/provider.ts';
import { CampaignScheduler } from '../../src/product/campaigns/campaign-scheduler.ts';
import type { CampaignServices } from '../../src/product/campaigns/open-campaigns.ts';
import type { Codes } from '../../src/product/codes/codes.ts';
import { type Config, loadConfig } from '../../src/platform/config/config.ts';
import { openDataFolder } from '../../src/app/folder/data-folder.ts';
import type { HttpServer } from '../../src/api/server/server.ts';
import { createImageCache } from '../../src/product/images/image-cache.ts';
import { assembleImages, type Images } from '../../src/product/images/image-service.ts';
import { localTasks } from '../../src/product/images/tasks.ts';
import type { Clock, SteadyClock } from '../../src/model/clock.ts';
import { Signal } from '../../src/model/signal.ts';
import type { Actor, Role } from '../../src/model/workspace.ts';
import {
  type Base,
  imageOptions,
  type Mail,
  openBase,
  openBillingModule,
  openCampaignModule,
  openCodeModule,
  openMailModule,
  openPaymentProvider,
  openReportModule,
  openWebhookModule,
  openWorkspaceModule,
} from '../../src/app/modules.ts';
import { openApiServer } from '../../src/app/ports.ts';
import type { ScanQueries } from '../../src/engine/analytics/queries.ts';
import type { Outbox } from '../../src/webhooks/outbox.ts';
import type { ReportServices } from '../../src/product/reports/open-reports.ts';
import type { Management } from '../../src/store/management/management.ts';
import { systemSteadyClock } from '../../src/platform/system-clock.ts';
import type { HealthReport } from '../../src/platform/health.ts';
import { createLog } from '../../src/platform/log.ts';
import { Metrics } from '../../src/platform/metrics.ts';
import type { Webhooks } from '../../src/webhooks/open-webhooks.ts';
import { openWatches, type WatchServices } from '../../src/product/watches/open-watches.ts';
import type { WorkspaceServices } from '../../src/product/workspaces/services.ts';
import type { Bootstrapped } from '../../src/product/workspaces/workspaces.ts';
import { counted, fakeImages, LazySender, makeStores } from './fakes/app-parts.ts';
import { FakeScans } from './fakes/fake-scans.ts';
import type { TestAppOptions } from './test-app-options.ts';
import { isListening, openFilesIn } from './leaks.ts';
import { testPrices } from './fakes/prices.ts';
import { RecordingLinks } from './fakes/recording-links.ts';
import { TestClock } from './fakes/test-clock.ts';

/** 2^4 rounds instead of 2^15: 0.1 ms a hash instead of 200. */
const passwordCostLog2 = 4;
/** A mail that is refused is tried again after these, then given up. */
const mailPausesMs = [20, 40];

/** Opens the store with its first workspace; modules follow as they are asked for. */
export async function openTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const app = await TestApp.open(options);
  if (TestRunner.getCurrentTest() !== undefined) onTestFinished(() => app.close());
  return app;
}

/** The same with everything that the API stands on, and the API on a socket. */
export async function startTestApi(options: TestAppOptions = {}): Promise<TestApp> {
  const app = await openTestApp(options);
  await app.listen();
  return app;
}

interface Foundation {
  readonly options: TestAppOptions;
  readonly base: Base;
  readonly workspaces: WorkspaceServices;
  readonly first: Bootstrapped | undefined;
  readonly provider: PaymentProvider | undefined;
  readonly mail: Mail | undefined;
  readonly logLines: readonly string[];
}

export class TestApp {
  readonly #foundation: Foundation;
  readonly base: Base;
  readonly config: Config;
  readonly dataDir: string;
  readonly store: Management;
  readonly outbox: Outbox;
  readonly workspaces: WorkspaceServices;
  readonly mail: Mail | undefined;
  readonly logLines: readonly string[];
  readonly #closers: Array<() => Promise<void> | void> = [];
  /** A link table that remembers; unused where a test handed in its own. */
  readonly links = new RecordingLinks();
  /** Scans as a test says; unused where a test handed in queries of its own. */
  readonly scans = new FakeScans();
  readonly #queries: ScanQueries;
  /** To be fired when a window was committed, and when the service stops. */
  readonly windows = new Signal();
  readonly stopping = new Signal();
  readonly metrics = new Metrics((metric, cause) => {
    throw new Error(`Cannot collect ${metric}`, { cause });
  });
  health: HealthReport = { ready: true, checks: [] };
  #codes: Codes | undefined;
  #campaigns: CampaignServices | undefined;
  #campaignScheduler: CampaignScheduler | undefined;
  #reports: ReportServices | undefined;
  #billing: Billing | undefined;
  #watches: WatchServices | undefined;
  #images: Pick<Images, 'service' | 'logos' | 'designs'> | undefined;
  #webhooks: Webhooks | undefined;
  #server: HttpServer | undefined;

  private constructor(foundation: Foundation) {
    const { options, base, workspaces, mail } = foundation;
    this.#foundation = foundation;
    this.#queries = options.scans ?? this.scans;
    this.base = base;
    this.config = base.config;
    this.dataDir = base.folder.path;
    this.store = base.management;
    this.outbox = base.outbox;
    this.workspaces = workspaces;
    this.mail = mail;
    this.logLines = foundation.logLines;
    this.#closers.push(
      () => base.management.close(),
      () => workspaces.close(),
      () => mail?.close(),
    );
  }

  static async open(options: TestAppOptions): Promise<TestApp> {
    const { plan = 'enterprise' } = options;
    const clock = options.clock ?? new TestClock();
    const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'quietzone-test-'));
    const config = loadConfig(undefined, {
      QZ_DATA_DIR: dataDir,
      QZ_BOOTSTRAP_PLAN: plan === 'none' ? 'free' : plan,
      ...testPrices,
      ...options.environment,
    });
    const logLines: string[] = [];
    const log = createLog('debug', { write: (line) => void logLines.push(line) });
    const folder = openDataFolder(dataDir);
    await makeStores(folder);
    const base = openBase({
      config,
      folder,
      log,
      scarce: options.scarce,
      clock,
      steady: isSteady(clock) ? clock : systemSteadyClock,
      randomBytes: (bytes) => getRandomValues(bytes),
      random: options.random ?? (() => 0.5),
      passwordCostLog2,
    });
    const workspaces = openWorkspaceModule(base);
    const first =
      plan === 'none' ? undefined : await workspaces.workspaces.bootstrap(config.bootstrap);
    const provider = options.provider ?? (await openPaymentProvider(base));
    const mail = await openMailModule(base, mailPausesMs);
    return new TestApp({ options, base, workspaces, first, provider, mail, logLines });
  }

  /** @throws Error where the test handed in another clock */
  get clock(): TestClock {
    const { clock } = this.base;
    if (!(clock instanceof TestClock)) throw new Error('Cannot tell of the clock: it is another');
    return clock;
  }

  /** What the first start printed. @throws Error where it was not the first, or `plan` is `none` */
  get first(): Bootstrapped {
    const { first } = this.#foundation;
    if (first === undefined) throw new Error('Cannot tell of a first start: this was none');
    return first;
  }

  /** The owner of the first workspace. */
  get actor(): Actor {
    const { user, workspace } = this.first;
    return { userId: user.id, workspaceId: workspace.id, workspaceNo: workspace.no, role: 'owner' };
  }

  get apiKey(): string {
    return this.first.apiKey;
  }

  get codes(): Codes {
    return (this.#codes ??= this.#openCodes());
  }

  get campaigns(): CampaignServices {
    const { codes } = this;
    const { analytics: scans } = this.#queries;
    return (this.#campaigns ??= openCampaignModule(this.base, { codes, scans }));
  }

  /** Not started: a test calls `tick`. */
  get campaignScheduler(): CampaignScheduler {
    return (this.#campaignScheduler ??= this.#openCampaignScheduler());
  }

  get reports(): ReportServices {
    const { workspaces, codes, campaigns } = this;
    const services = { workspaces, codes, campaigns, scans: this.#queries };
    return (this.#reports ??= openReportModule(this.base, services));
  }

  get billing(): Billing {
    return (this.#billing ??= this.#openBilling());
  }

  /** Not started: a test calls `scheduler.tick`. */
  get watches(): WatchServices {
    return (this.#watches ??= this.#openWatches());
  }

  get images(): Pick<Images, 'service' | 'logos' | 'designs'> {
    return (this.#images ??= assembleImages(imageOptions(this.base), localTasks));
  }

  /** Not started: a test calls `tick`, or `start`. */
  get webhooks(): Webhooks {
    return (this.#webhooks ??= this.#openWebhooks());
  }

  get server(): HttpServer {
    if (this.#server === undefined) throw new Error('Cannot tell of the server: not listening');
    return this.#server;
  }
  get port(): number {
    return this.server.port;
  }
  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** A key of the first workspace. */
  async keyOf(role: Role): Promise<string> {
    const { workspaces, users, keys } = this.workspaces;
    const [workspace] = workspaces.all();
    const user = users.findByEmail(this.config.bootstrap.email);
    if (workspace === undefined || user === undefined) {
      throw new Error('Cannot make a key: there is no first workspace');
    }
    const request = { workspaceNo: workspace.no, userId: user.id, name: role, role };
    return (await keys.create(request)).token;
  }

  /** Opens everything that the API stands on, starts webhooks, and listens on a free port. */
  async listen(): Promise<void> {
    const { base, workspaces, mail } = this;
    const { options } = this.#foundation;
    await this.webhooks.start();
    const committed = [base.management.environment.committed, this.windows];
    this.#server = await openApiServer(
      base,
      new ApiServer({
        ...base,
        bulk: base.scarce?.bulk,
        geo: { date: undefined },
        ...options.answers,
        codes: this.codes,
        campaigns: this.campaigns,
        reports: this.reports,
        workspaces,
        billing: this.billing,
        watches: this.watches,
        webhooks: this.webhooks,
        mail: mail?.emails,
        scans: this.#queries,
        committed,
        imageCache: createImageCache(base.config.images.cacheBytesMax),
        stopping: this.stopping,
        images: options.images === 'drawn' ? this.images.service : (options.images ?? fakeImages),
        designs: this.images.designs,
        logos: this.images.logos,
        health: () => this.health,
        metrics: this.metrics,
      }),
      { host: '127.0.0.1', port: 0, ...options.limits },
    );
    this.#closers.push(() => this.#server?.close());
  }

  /** Closes everything and opens the folder again, with what differs now. The first start's secrets are lost. */
  async restart(changed: TestAppOptions = {}): Promise<TestApp> {
    await this.#closeModules();
    const { options } = this.#foundation;
    const { dataDir } = this;
    return await openTestApp({ ...options, dataDir, clock: this.base.clock, ...changed });
  }

  /** Ends what was opened, newest first. @throws Error when something is left open */
  async close(): Promise<void> {
    await this.#closeModules();
    const isOwn = this.#foundation.options.dataDir === undefined;
    if (isOwn) rmSync(this.dataDir, { recursive: true, force: true });
  }

  async #closeModules(): Promise<void> {
    for (const closer of this.#closers.splice(0).toReversed()) await closer();
    const left = openFilesIn(this.dataDir);
    if (left.length > 0) throw new Error(`Left open by the application: ${left.join(', ')}`);
    if (this.#server !== undefined && (await isListening(this.port))) {
      throw new Error(`The application still listens on ${this.port}`);
    }
  }

  #openCodes(): Codes {
    const codes = openCodeModule(this.base, {
      links: this.#foundation.options.links ?? this.links,
      scansOf: (codeNo) => this.#queries.analytics.lifetimeScans(codeNo),
      designs: { accept: (...design) => this.images.designs.accept(...design) },
    });
    codes.links.load();
    codes.links.loadLimited();
    return codes;
  }

  #openCampaignScheduler(): CampaignScheduler {
    const { counting = counted } = this.#foundation.options;
    const { campaigns } = this.campaigns;
    const scheduler = new CampaignScheduler({ ...this.base, campaigns, counting });
    this.#closers.push(() => scheduler.close());
    return scheduler;
  }

  #openWatches(): WatchServices {
    const { options } = this.#foundation;
    const watches = openWatches({
      ...this.base,
      codes: this.codes,
      scans: this.#queries.analytics,
      metrics: this.metrics,
      counting: options.counting ?? counted,
      isWell: () => this.health.ready,
      emails: this.mail?.emails,
      checker: options.checker,
    });
    this.#closers.push(async () => void (await watches.close()));
    return watches;
  }

  #openBilling(): Billing {
    const { workspaces, provider } = this.#foundation;
    const billing = openBillingModule(this.base, { workspaces, provider });
    this.#closers.push(() => billing.close());
    return billing;
  }

  #openWebhooks(): Webhooks {
    const { options, base, workspaces } = this.#foundation;
    const { attemptTimeoutMs: timeoutMs, allowNetworks } = base.config.webhooks;
    const docsUrl = `${base.config.api.publicUrl}/docs/webhooks`;
    const channel = base.ids.newId('dlv');
    const { attemptsMax = base.shares.attempts } = options;
    const shares = { ...base.shares, attempts: attemptsMax };
    const webhooks = openWebhookModule(
      { ...base, shares },
      {
        cipher: workspaces.cipher,
        metrics: this.metrics,
        sender: options.sender ?? new LazySender(channel, { timeoutMs, allowNetworks, docsUrl }),
        ...(options.scanned === undefined ? {} : { scanned: options.scanned }),
      },
    );
    this.#closers.push(() => webhooks.close());
    return webhooks;
  }
}

const isSteady = (clock: Clock): clock is Clock & SteadyClock => 'sinceBootMs' in clock;
