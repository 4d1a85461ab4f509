/**
 * The modules that the API calls. Modules with threads are typed by the few methods that the API
 * uses, so that a test can replace them.
 */
import type { ClusterAccess } from './cluster/cluster.ts';
import type { ClusterGateOptions } from './cluster/gate.ts';
import type { BulkBounds } from './codes/bulk-gate.ts';
import type { Billing } from '../product/billing/billing.ts';
import type { CampaignServices } from '../product/campaigns/open-campaigns.ts';
import type { Codes } from '../product/codes/codes.ts';
import type { Config } from '../platform/config/config.ts';
import type { Reply, Request } from '../platform/uws/request.ts';
import type { ScannabilityCheck } from '../product/images/design/scannability-check.ts';
import type { ImageRequest } from '../product/images/formats.ts';
import type { ImageCache } from '../product/images/image-cache.ts';
import type { RenderedImage } from '../product/images/image-service.ts';
import type { Logos } from '../product/images/logo/logos.ts';
import type { Emails } from '../product/mail/emails.ts';
import type { Clock } from '../model/clock.ts';
import type { IdSource, RandomBytes } from '../model/ids.ts';
import type { Signal } from '../model/signal.ts';
import type { Outbox } from '../webhooks/outbox.ts';
import type { ReportServices } from '../product/reports/open-reports.ts';
import type { ScanQueries } from '../engine/analytics/queries.ts';
import type { OpenGeo } from '../engine/visitor/geo/geo-data.ts';
import type { HealthReport } from '../platform/health.ts';
import type { Logger } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Deliveries } from '../webhooks/deliveries/deliveries.ts';
import type { Endpoints } from '../webhooks/endpoints/endpoints.ts';
import type { WorkspaceServices } from '../product/workspaces/services.ts';
import type { WatchesApi } from './watches/watches.ts';

export interface ApiServices {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Logger;
  readonly codes: Codes;
  readonly campaigns: CampaignServices;
  readonly reports: Pick<ReportServices, 'reports' | 'pages' | 'digests'>;
  readonly watches: WatchesApi;
  readonly workspaces: WorkspaceServices;
  readonly outbox: Outbox;
  readonly ids: IdSource;
  readonly randomBytes: RandomBytes;
  /** Absent = 24 MB, three at once. */
  readonly bulk?: BulkBounds | undefined;
  readonly webhooks: Webhooks;
  readonly billing: Billing;
  /** Undefined where no mail server is configured. */
  readonly mail: Pick<Emails, 'invite' | 'confirmAddress' | 'accountChanged'> | undefined;
  readonly scans: ScanQueries;
  /** Fired after each commit of a change or of a window of scans. */
  readonly committed: readonly Signal[];
  /** Of a core that leads; absent on a standalone machine. */
  readonly cluster?: ApiCluster | undefined;
  /** Fired once, when the service stops: live streams end. */
  readonly stopping: Signal;
  readonly images: ImageDrawing;
  readonly imageCache: ImageCache;
  readonly designs: Pick<ScannabilityCheck, 'preview'>;
  readonly logos: Logos;
  readonly health: () => HealthReport;
  readonly metrics: Metrics;
  readonly geo: Pick<OpenGeo, 'date'>;
  /** Absent in tests. */
  readonly dashboard?: DashboardPages;
}

export interface ApiCluster extends ClusterAccess, ClusterGateOptions {
  /** Names the store whose blocks cursors are about: each core has its own. */
  readonly scanStore: string;
}

export interface DashboardPages {
  /** Undefined where the dashboard has nothing. */
  reply(request: Request): Reply | undefined;
}

export interface Webhooks {
  readonly endpoints: Endpoints;
  readonly deliveries: Deliveries;
}

export interface ImageDrawing {
  /** @throws Failure validation_failed, overloaded */
  render(request: ImageRequest): Promise<RenderedImage>;
}
