/** The management API as one table: what exists below /v1, in the order of the reference page. */
import type { ApiServices } from './services.ts';
import { analyticsRoutes } from './analytics.ts';
import { CodeView } from './code-view.ts';
import { eventRoutes } from './events.ts';
import { qrCodeRoutes } from './qr-codes.ts';
import type { Route } from './route.ts';

export function createRoutes(services: ApiServices): Route[] {
  const { clock, codes, config, outbox, report } = services;
  const { shortUrlBase } = config;
  const view = new CodeView(shortUrlBase, cdnBaseOf(config), (no) => report.lifetimeScans(no));
  const ownHosts = [new URL(shortUrlBase).host];
  return [
    ...qrCodeRoutes({ codes, view, ownHosts }),
    ...analyticsRoutes({ codes, report, clock }),
    ...eventRoutes({ outbox, report }),
  ];
}

/** Where images are: the configured address, or below the API's. */
function cdnBaseOf({ cdnBase, api }: ApiServices['config']): string {
  return cdnBase === '' ? `${api.publicUrl}/i` : cdnBase;
}
