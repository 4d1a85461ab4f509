/** The management API as one table: what exists below /v1, in the order of the reference page. */
import type { ApiServices } from './services.ts';
import { analyticsRoutes } from './analytics.ts';
import { apiKeyRoutes } from './api-keys.ts';
import { billingRoutes } from './billing.ts';
import { CodeView } from './code-view.ts';
import type { SessionCookie } from './cookie.ts';
import { eventRoutes } from './events.ts';
import { inviteRoutes } from './invites.ts';
import { memberRoutes } from './members.ts';
import { qrCodeRoutes } from './qr-codes.ts';
import type { Route } from './route.ts';
import { sessionRoutes } from './session.ts';
import { usageRoutes } from './usage.ts';
import { workspaceRoutes } from './workspaces.ts';

export function createRoutes(services: ApiServices, cookie: SessionCookie): Route[] {
  const { clock, codes, config, mail, outbox, report, workspaces } = services;
  const { shortUrlBase } = config;
  const view = new CodeView(shortUrlBase, cdnBaseOf(config), (no) => report.lifetimeScans(no));
  const ownHosts = [new URL(shortUrlBase).host];
  return [
    ...qrCodeRoutes({ codes, view, ownHosts }),
    ...analyticsRoutes({ codes, report, clock }),
    ...eventRoutes({ outbox, report }),
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
