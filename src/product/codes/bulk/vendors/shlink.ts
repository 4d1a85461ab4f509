/**
 * Shlink: links as `GET /short-urls` of its API has them, the CSV of its web client, or the columns of
 * `short-url:list`. Only the first says when a link begins and ends, and whether it has redirect rules; the rules
 * themselves come from one more call for each link, and are expected within the link (guide: bulk.md).
 *
 *   meta              validSince -> startsAt, validUntil -> expiresAt, maxVisits -> scanLimit
 *   forwardQuery      passQuery, if the export has it
 *   redirectRules     shlink-rules.ts; a link that announces some and brings none is refused
 *   deviceLongUrls    the same of versions before 4
 */
import { plainLink, type VendorLink } from './link.ts';
import { boundary, isTrue, text, time, type VendorRow, whole, within } from './row.ts';
import { shlinkRules } from './shlink-rules.ts';

export function shlinkLink(row: VendorRow): VendorLink {
  const meta = within(row, 'meta');
  return {
    ...plainLink(row),
    target: text(row, 'longurl'),
    shortUrl: text(row, 'shorturl'),
    slug: text(row, 'shortcode'),
    createdAt: time(row, 'createdat', 'datecreated'),
    clicks: whole(row, 'visits', 'visitscount') ?? whole(within(row, 'visitssummary'), 'total'),
    startsAt: boundary(meta, 'validsince'),
    expiresAt: boundary(meta, 'validuntil'),
    visitsMax: whole(meta, 'maxvisits'),
    passQuery: isTrue(row.get('forwardquery')),
    ...shlinkRules(row),
  };
}
