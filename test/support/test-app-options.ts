/** What a test may want to differ of the application that it opens (test-app.ts). */
import type { ApiServices, ImageDrawing } from '../../src/api/services.ts';
import type { PaymentProvider } from '../../src/product/billing/provider.ts';
import type { Counting } from '../../src/product/campaigns/campaign-scheduler.ts';
import type { CodesOptions } from '../../src/product/codes/codes.ts';
import type { MemoryShares } from '../../src/app/machine/machine-plan.ts';
import type { HttpServerOptions } from '../../src/api/server/server.ts';
import type { Clock } from '../../src/model/clock.ts';
import type { TargetChecker } from '../../src/model/watches/watch.ts';
import type { Plan } from '../../src/model/workspace.ts';
import type { ScanQueries } from '../../src/engine/analytics/queries.ts';
import type { AttemptSender } from '../../src/webhooks/attempt/attempt-sender.ts';
import type { WebhooksOptions } from '../../src/webhooks/open-webhooks.ts';

export interface TestAppOptions {
  /** Of the first workspace; `none` = an empty store, as before the first start. */
  readonly plan?: Plan | 'none';
  /** Default: a `TestClock`. */
  readonly clock?: Clock;
  /** An existing data folder, kept when the application is closed. */
  readonly dataDir?: string;
  /** `QZ_…` variables. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Limits of the API's server that are not the standard ones. */
  readonly limits?: Pick<HttpServerOptions, 'bodyTimeoutMs' | 'inFlightMax' | 'forwarded'>;
  /** As in a cluster, and by geo data. */
  readonly answers?: Partial<Pick<ApiServices, 'cluster' | 'geo'>>;
  readonly links?: CodesOptions['links'];
  readonly scans?: ScanQueries;
  /** `drawn`: by this thread, as the pool's would. Default: a fake that says what was asked for. */
  readonly images?: ImageDrawing | 'drawn';
  readonly counting?: Counting;
  /** Default: the one that is configured. */
  readonly provider?: PaymentProvider;
  readonly sender?: AttemptSender;
  /** Webhooks in flight; default: as many as the machine allows. */
  readonly attemptsMax?: number;
  /** Default: a thread of its own. */
  readonly checker?: TargetChecker;
  readonly scanned?: WebhooksOptions['scanned'];
  readonly scarce?: MemoryShares | undefined;
  /** From 0 up to 1; default: always the middle. */
  readonly random?: () => number;
}
