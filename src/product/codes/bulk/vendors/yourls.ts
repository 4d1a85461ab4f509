/** YOURLS: CSV of its plugin or its table, JSON of its API. */
import { plainLink, type VendorLink } from './link.ts';
import { text, time, type VendorRow, whole } from './row.ts';

export function yourlsLink(row: VendorRow): VendorLink {
  return {
    ...plainLink(row),
    target: text(row, 'url', 'target'),
    shortUrl: text(row, 'shorturl'),
    slug: text(row, 'keyword') ?? text(row, 'source')?.replace(/^\/+|\/+$/g, ''),
    createdAt: time(row, 'timestamp'),
    clicks: whole(row, 'clicks', 'hits'),
  };
}
