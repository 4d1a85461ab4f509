/** The management API as one table: what exists below /v1, in the order of the reference page. */
import type { ApiServices } from './services.ts';
import type { AnalyticsServices } from './analytics/analytics-routes.ts';
import { codeAnalyticsRoutes } from './analytics/code-analytics.ts';
import { apiKeyRoutes } from './workspaces/api-keys.ts';
import { billingRoutes } from './billing/billing.ts';
import { campaignRoutes } from './campaigns/campaigns.ts';
import { bulkRoutes } from './codes/bulk.ts';
import { CodeView } from './codes/code-view.ts';
import { digestRoutes } from './reports/digest.ts';
import { reportRoutes } from './reports/reports.ts';
import { clusterRoutes, seesCluster } from './cluster/cluster.ts';
import { conversionRoutes } from './campaigns/conversions.ts';
import type { SessionCookie } from './workspaces/cookie.ts';
import { deadLetterRoutes } from './webhooks/dead-letters.ts';
import { deliveryRoutes } from './webhooks/deliveries.ts';
import { eventStreamRoutes } from './events/event-stream.ts';
import { eventRoutes } from './events/events.ts';
import { installationBrand } from '../engine/redirect/pages.ts';
import { inviteRoutes } from './workspaces/invites.ts';
import { logoRoutes } from './images/logos.ts';
import { memberRoutes } from './workspaces/members.ts';
import { profileRoutes } from './workspaces/profile.ts';
import { previewRoutes } from './images/previews.ts';
import { Positions } from './kernel/positions.ts';
import { qrCodeRoutes } from './codes/qr-codes.ts';
import { resolveRoutes } from './codes/resolve.ts';
import { tagRoutes } from './codes/tags.ts';
import { rawScanRoutes } from './analytics/raw-scans.ts';
import type { Route } from './kernel/route.ts';
import { createSessionView, sessionRoutes } from './workspaces/session.ts';
import { workspaceAnalyticsRoutes } from './analytics/workspace-analytics.ts';
import { usageRoutes } from './billing/usage.ts';
import { webhookRoutes } from './webhooks/webhooks.ts';
import { watchRoutes } from './watches/watches.ts';
import { workspacePageRoutes } from './workspaces/workspace-pages.ts';
import { workspaceRoutes } from './workspaces/workspaces.ts';

export function createRoutes(services: ApiServices, cookie: SessionCookie): Route[] {
  const { campaigns, clock, codes, committed, config, mail, outbox } = services;
  const { cluster, scans, stopping, workspaces } = services;
  const scanStore = cluster?.scanStore;
  const { shortUrlBase } = config;
  const positions = new Positions(workspaces.positionCipher);
  const view = new CodeView(shortUrlBase, cdnBaseOf(config), {
    scansOf: (no) => scans.analytics.lifetimeScans(no),
    campaignsOf: (no) => codes.memberships.campaignsOf(no),
    clock,
  });
  const installation = { cluster, workspaces: workspaces.workspaces };
  const sessionView = createSessionView(workspaces, shortUrlBase, {
    seesCluster: (actor) => seesCluster(installation, actor),
    geoDate: services.geo.date,
  });
  const zoneOf: AnalyticsServices['zoneOf'] = (no) => workspaces.workspaces.find(no);
  const analytics: AnalyticsServices = { codes, scans, clock, zoneOf };
  const logs = { outbox, scans: scans.events, positions, clock, scanStore };
  const people = { workspaces, mail, publicUrl: config.api.publicUrl };
  const ownHosts = [new URL(shortUrlBase).host];
  return [
    ...qrCodeRoutes({ codes, view, positions, ownHosts }),
    ...resolveRoutes({ codes, clock, scansOf: (no) => scans.analytics.lifetimeScans(no) }),
    ...tagRoutes(codes),
    ...previewRoutes({ ...services, shortUrlBase, ownHosts }),
    ...logoRoutes(services.logos),
    ...bulkRoutes({
      codes,
      view,
      ownHosts,
      idempotency: workspaces.idempotency,
      clock,
      bounds: services.bulk,
    }),
    ...codeAnalyticsRoutes(analytics),
    ...workspaceAnalyticsRoutes(analytics),
    ...rawScanRoutes({ ...analytics, positions, scanStore }),
    ...eventRoutes(logs),
    ...eventStreamRoutes({
      ...logs,
      committed,
      stopping,
      accessVersion: () => workspaces.accessVersion(),
      isSignedIn: (sessionHash) => workspaces.sessions.isOpen(sessionHash),
    }),
    ...campaignRoutes({ ...campaigns, ...analytics, positions }),
    ...conversionRoutes({ conversions: campaigns.conversions, codes, clock }),
    ...reportRoutes({ reports: services.reports.reports, publicUrl: config.api.publicUrl }),
    ...watchRoutes({ ...services.watches, positions }),
    ...webhookRoutes(services),
    ...deliveryRoutes(services.webhooks, positions),
    ...deadLetterRoutes(services.webhooks, positions),
    ...memberRoutes(workspaces),
    ...inviteRoutes(people),
    ...apiKeyRoutes({ workspaces, clock }),
    ...workspaceRoutes(workspaces, sessionView),
    ...workspacePageRoutes(workspaces.workspaces, services.logos, installationBrand(config.pages)),
    ...sessionRoutes(people, cookie, sessionView),
    ...profileRoutes(people),
    ...digestRoutes({
      digests: services.reports.digests,
      users: workspaces.users,
      sendsMail: mail !== undefined,
    }),
    ...billingRoutes(services.billing),
    ...usageRoutes({ workspaces, codes }),
    ...clusterRoutes(installation),
  ];
}

/** Where images are: the configured address, or below the API's. */
function cdnBaseOf({ cdnBase, api }: ApiServices['config']): string {
  return cdnBase === '' ? `${api.publicUrl}/i` : cdnBase;
}
