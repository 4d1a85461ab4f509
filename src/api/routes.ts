/** The management API as one table: what exists below /v1, in the order of the reference page. */
import type { ApiServices } from './services.ts';
import { analyticsRoutes } from './analytics.ts';
import { apiKeyRoutes } from './api-keys.ts';
import { billingRoutes } from './billing.ts';
import { campaignRoutes } from './campaigns.ts';
import { bulkRoutes } from './bulk.ts';
import { CodeView } from './code-view.ts';
import { conversionRoutes } from './conversions.ts';
import type { SessionCookie } from './cookie.ts';
import { deadLetterRoutes } from './dead-letters.ts';
import { deliveryRoutes } from './deliveries.ts';
import { eventStreamRoutes } from './event-stream.ts';
import { eventRoutes } from './events.ts';
import { inviteRoutes } from './invites.ts';
import { logoRoutes } from './logos.ts';
import { memberRoutes } from './members.ts';
import { previewRoutes } from './previews.ts';
import { qrCodeRoutes } from './qr-codes.ts';
import { rawScanRoutes } from './raw-scans.ts';
import type { Route } from './route.ts';
import { sessionRoutes } from './session.ts';
import { summaryRoutes } from './summary.ts';
import { usageRoutes } from './usage.ts';
import { webhookRoutes } from './webhooks.ts';
import { workspaceRoutes } from './workspaces.ts';

export function createRoutes(services: ApiServices, cookie: SessionCookie): Route[] {
  const { campaigns, clock, codes, committed, config, mail, outbox, report, stopping, workspaces } =
    services;
  const { shortUrlBase } = config;
  const view = new CodeView(shortUrlBase, cdnBaseOf(config), {
    scansOf: (no) => report.lifetimeScans(no),
    campaignIdsOf: (no) => codes.memberships.campaignIdsOf(no),
  });
  const ownHosts = [new URL(shortUrlBase).host];
  const { bodyBytesMax } = config.api;
  return [
    ...qrCodeRoutes({ codes, view, ownHosts, bodyBytesMax }),
    ...previewRoutes({ ...services, shortUrlBase, ownHosts, bodyBytesMax }),
    ...logoRoutes(services.logos),
    ...bulkRoutes({ codes, view, ownHosts, idempotency: workspaces.idempotency, clock }),
    ...analyticsRoutes({ codes, report, clock }),
    ...summaryRoutes({ codes, report, clock }),
    ...rawScanRoutes({ codes, report, clock }),
    ...eventRoutes({ outbox, report }),
    ...eventStreamRoutes({
      outbox,
      report,
      committed,
      stopping,
      accessVersion: () => workspaces.accessVersion(),
      isSignedIn: (sessionHash) => workspaces.sessions.isOpen(sessionHash),
    }),
    ...campaignRoutes({ campaigns, clock }),
    ...conversionRoutes({ conversions: campaigns.conversions, codes, clock }),
    ...webhookRoutes(services),
    ...deliveryRoutes(services.webhooks),
    ...deadLetterRoutes(services.webhooks),
    ...memberRoutes(workspaces),
    ...inviteRoutes({ workspaces, mail, publicUrl: config.api.publicUrl }),
    ...apiKeyRoutes({ workspaces, clock }),
    ...workspaceRoutes(workspaces),
    ...sessionRoutes(workspaces, cookie),
    ...billingRoutes(services.billing),
    ...usageRoutes({ workspaces, codes }),
  ];
}

/** Where images are: the configured address, or below the API's. */
function cdnBaseOf({ cdnBase, api }: ApiServices['config']): string {
  return cdnBase === '' ? `${api.publicUrl}/i` : cdnBase;
}
