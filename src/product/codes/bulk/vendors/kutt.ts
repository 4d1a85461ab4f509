/** Kutt: the JSON of its API, or a CSV of that or of its table. */
import { passwordFaults, plainLink, type VendorLink } from './link.ts';
import { boundary, isTrue, text, type VendorRow, whole, within } from './row.ts';

export function kuttLink(row: VendorRow): VendorLink {
  const banned = { path: '', code: 'banned', message: 'The link was banned' };
  return {
    ...plainLink(row),
    target: text(row, 'target'),
    shortUrl: text(row, 'link') ?? text(within(row, 'link'), 'url'),
    slug: text(row, 'address'),
    title: text(row, 'description'),
    clicks: whole(row, 'visitcount'),
    expiresAt: boundary(row, 'expirein'),
    faults: [...(isTrue(row.get('banned')) ? [banned] : []), ...passwordFaults(row)],
  };
}
