/**
 * The modules over one data folder: one function opens each from the previous ones. The service opens all of them
 * (services.ts), a command the first few, and a test the ones that it needs, with its own clock and randomness.
 *
 *   base: store, ids, outbox -> workspaces -> images -> codes -> webhooks, billing, campaigns -> reports -> mail
 */
import { randomFillSync, randomInt } from 'node:crypto';
import { Billing } from '../product/billing/billing.ts';
import type { PaymentProvider } from '../product/billing/provider.ts';
import { openStripe } from '../product/billing/stripe-provider.ts';
import {
  type CampaignServices,
  type CampaignServicesOptions,
  openCampaigns,
} from '../product/campaigns/open-campaigns.ts';
import { Codes, type CodesOptions } from '../product/codes/codes.ts';
import type { Config } from '../platform/config/config.ts';
import type { DataFolder } from './folder/data-folder.ts';
import { type FirstSecrets, FirstStart } from './folder/first-start.ts';
import type { DataVersions } from './upgrade/messages.ts';
import type { DescriptorShares } from './machine/descriptors.ts';
import { sharesOf } from './machine/machine-limits.ts';
import {
  type MemoryShares,
  memoryShares,
  type ThreadCounts,
  threadCounts,
} from './machine/machine-plan.ts';
import { installationBrand } from '../engine/redirect/pages.ts';
import type { ImagesOptions } from '../product/images/image-service.ts';
import type { Emails } from '../product/mail/emails.ts';
import type { Clock, SteadyClock } from '../model/clock.ts';
import { createIdSource, type IdSource, type RandomBytes } from '../model/ids.ts';
import { Outbox } from '../webhooks/outbox.ts';
import { openReports, type ReportServices } from '../product/reports/open-reports.ts';
import type { ScanQueries } from '../engine/analytics/queries.ts';
import { deliveryVersion } from '../store/delivery/delivery.ts';
import type { OpenMode } from '../store/environment.ts';
import {
  type Management,
  managementVersion,
  openManagement,
} from '../store/management/management.ts';
import { scansVersion } from '../store/scans/scans.ts';
import { systemClock, systemSteadyClock } from '../platform/system-clock.ts';
import type { Logger } from '../platform/log.ts';
import { openWebhooks, type Webhooks, type WebhooksOptions } from '../webhooks/open-webhooks.ts';
import { openWorkspaceServices, type WorkspaceServices } from '../product/workspaces/services.ts';
import type { Bootstrapped } from '../product/workspaces/workspaces.ts';

const uint32Count = 2 ** 32;

/** Clocks, randomness and memory of the machine; a test passes its own. */
export interface Machine {
  readonly clock: Clock;
  readonly steady: SteadyClock;
  readonly randomBytes: RandomBytes;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** Binary logarithm of the cost of a password hash; absent = a safe one. */
  readonly passwordCostLog2?: number;
  readonly scarce?: MemoryShares | undefined;
}

export const thisMachine: Machine = {
  clock: systemClock,
  steady: systemSteadyClock,
  randomBytes: (bytes) => randomFillSync(bytes),
  random: () => randomInt(uint32Count) / uint32Count,
  scarce: memoryShares(),
};

export interface BaseOptions extends Machine {
  readonly config: Config;
  readonly folder: DataFolder;
  readonly log: Logger;
  /** Ports shared with another process during a takeover. */
  readonly heldPorts?: readonly number[] | undefined;
}

/** The base of every module. */
export interface Base extends BaseOptions {
  readonly shares: DescriptorShares;
  readonly threads: ThreadCounts;
  readonly management: Management;
  readonly ids: IdSource;
  readonly outbox: Outbox;
}

/** The data versions that this program writes. Only a program with the same versions takes over. */
export const dataVersions: DataVersions = {
  management: managementVersion.version,
  scans: scansVersion.version,
  delivery: deliveryVersion.version,
};

/** The caller closes `management` after all modules. */
export function openBase(options: BaseOptions, mode: OpenMode = 'existing'): Base {
  const { config, folder, clock, randomBytes } = options;
  const management = openManagement(folder.managementFile, mode);
  const ids = createIdSource(clock, randomBytes);
  return {
    ...options,
    shares: sharesOf(config),
    threads: threadCounts(config),
    management,
    ids,
    outbox: new Outbox(management, ids, clock),
  };
}

export function openWorkspaceModule(base: Base): WorkspaceServices {
  const { management: store, folder, scarce } = base;
  const hashesAtOnce = scarce?.hashesAtOnce;
  return openWorkspaceServices({ ...base, store, dataDir: folder.path, hashesAtOnce });
}

export function openFirstStart(base: Base, { workspaces, users }: WorkspaceServices): FirstStart {
  const { config, folder } = base;
  const secretsOf = ({ user, password, apiKey }: Bootstrapped): FirstSecrets => ({
    userId: user.id,
    email: user.email,
    password,
    apiKey,
  });
  return new FirstStart({
    dataDir: folder.path,
    hasUser: (userId) => users.find(userId) !== undefined,
    make: async (save) => {
      const made = await workspaces.bootstrap(config.bootstrap, (first) => save(secretsOf(first)));
      return made && secretsOf(made);
    },
  });
}

export function openCodeModule(
  base: Base,
  needs: Pick<CodesOptions, 'links' | 'scansOf' | 'routesSeen' | 'designs'>,
): Codes {
  const { config, management: store } = base;
  return new Codes({
    ...base,
    store,
    shortUrlBase: config.shortUrlBase,
    ...needs,
  });
}

export function openCampaignModule(
  base: Base,
  needs: Pick<CampaignServicesOptions, 'codes' | 'scans'>,
): CampaignServices {
  return openCampaigns({ ...base, store: base.management, ...needs });
}

export function openReportModule(
  { config, management: store, ids, clock }: Base,
  needs: {
    readonly workspaces: WorkspaceServices;
    readonly codes: Codes;
    readonly campaigns: CampaignServices;
    readonly scans: ScanQueries;
  },
): ReportServices {
  const { campaigns, analytics } = needs.campaigns;
  const campaignScans = analytics.subjectOf.bind(analytics);
  const brand = installationBrand(config.pages);
  return openReports({ ...needs, campaigns, campaignScans, brand, store, ids, clock });
}

/** Undefined = an operator confirms payments (`manual`). */
export async function openPaymentProvider({
  config,
  log,
}: Base): Promise<PaymentProvider | undefined> {
  const { provider, stripe } = config.billing;
  return provider === 'stripe' ? await openStripe(stripe, log) : undefined;
}

export function openBillingModule(
  base: Base,
  needs: { readonly workspaces: WorkspaceServices; readonly provider: PaymentProvider | undefined },
): Billing {
  const { config, management: store, ids, outbox, clock, log } = base;
  const { billing, api } = config;
  const { provider, workspaces } = needs;
  const hasPrices = Object.values(billing.prices).some(({ month, year }) => month > 0 || year > 0);
  const confirmer = billing.provider === 'none' || !hasPrices ? undefined : billing.confirmedBy;
  return new Billing({
    store,
    ids,
    outbox,
    clock,
    log,
    prices: billing.prices,
    currency: billing.currency,
    plans: workspaces.workspaces,
    publicUrl: api.publicUrl,
    provider,
    confirmedBy: provider === undefined ? confirmer : 'payment',
  });
}

export function imageOptions(base: Base): ImagesOptions {
  const { config, threads, management, clock, scarce } = base;
  return {
    ...config.images,
    shortUrlBase: config.shortUrlBase,
    threads: threads.pool,
    store: management,
    clock,
    restMs: scarce?.drawingRestMs,
  };
}

export function openWebhookModule(
  base: Base,
  needs: Pick<WebhooksOptions, 'scanned' | 'sender' | 'cipher' | 'metrics' | 'cluster'>,
): Webhooks {
  const { config, folder } = base;
  const { attemptTimeoutMs, ...settings } = config.webhooks;
  const { attempts, idleReceivers } = base.shares;
  return openWebhooks({
    ...base,
    file: folder.deliveryFile,
    settings: {
      ...settings,
      threads: base.threads.webhooks,
      inFlightMax: attempts,
      connectionsMax: idleReceivers,
      timeoutMs: attemptTimeoutMs,
      docsUrl: `${config.api.publicUrl}/docs/webhooks`,
    },
    ...needs,
  });
}

export interface Mail {
  readonly emails: Emails;
  close(): void;
}

/** Undefined without a mail server, whose package takes 100 ms of a start. @param pausesMs between the tries */
export async function openMailModule(
  { config, log }: Base,
  pausesMs?: readonly number[],
): Promise<Mail | undefined> {
  if (config.mail.host === '') return undefined;
  const { Emails } = await import('../product/mail/emails.ts');
  const { Mailer } = await import('../product/mail/mailer.ts');
  const mailer = new Mailer(config.mail, log, pausesMs);
  return { emails: new Emails(mailer), close: () => mailer.close() };
}
