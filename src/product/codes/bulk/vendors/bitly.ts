/** Bitly: its CSV, or the JSON of its API. A link answers at its generated and at each custom back-half. */
import { plainLink, type VendorLink } from './link.ts';
import { list, text, time, type VendorRow, whole } from './row.ts';

/** Back-halves of one link, which become codes in one transaction. */
const backHalvesMax = 100;

export function bitlyLink(row: VendorRow): VendorLink {
  const custom = ['customlink', 'customlinks', 'custombitlink', 'custombitlinks'];
  const generated = text(row, 'link', 'bitlink', 'id');
  const [shortUrl, ...otherUrls] = [
    ...custom.flatMap((name) => list(row, name)),
    ...(generated === undefined ? [] : [generated]),
  ];
  const message = `A link is imported with at most ${backHalvesMax} back-halves`;
  return {
    ...plainLink(row),
    target: text(row, 'destinationurl', 'longurl', 'destination'),
    shortUrl,
    otherUrls,
    createdAt: time(row, 'datecreated', 'createddate', 'creationdate', 'createdat', 'created'),
    clicks: whole(row, 'engagements', 'totalengagements', 'clicks', 'totalclicks', 'linkclicks'),
    faults: otherUrls.length < backHalvesMax ? [] : [{ path: '', code: 'too_many', message }],
  };
}
