/** Bitly: its CSV, or the JSON of its API. */
import { plainLink, type VendorLink } from './link.ts';
import { list, text, time, type VendorRow, whole } from './row.ts';

export function bitlyLink(row: VendorRow): VendorLink {
  return {
    ...plainLink(row),
    target: text(row, 'destinationurl', 'longurl', 'destination'),
    shortUrl:
      text(row, 'customlink') ??
      list(row, 'custombitlinks')[0] ??
      text(row, 'link', 'bitlink', 'id'),
    createdAt: time(row, 'datecreated', 'createddate', 'creationdate', 'createdat', 'created'),
    clicks: whole(row, 'engagements', 'totalengagements', 'clicks', 'totalclicks', 'linkclicks'),
  };
}
