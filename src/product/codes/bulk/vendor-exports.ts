/**
 * Exports of other tools, and the QR codes that their links become.
 *
 *   bitly    CSV: Link, Custom Link, Destination URL, Title, Tags, Date Created, clicks or engagements; or its
 *            API's link, long_url, custom_bitlinks, title, tags, created_at
 *   dub      CSV: Short link, Destination URL, Clicks, Created at, Updated at, Tags, Archived; JSON of its API
 *   shlink   CSV of its web client: createdAt, title, shortUrl, domain, shortCode, longUrl, tags, visits; the
 *            columns of `short-url:list`: Short code, Short URL, Long URL, Date created, Tags; JSON of its API
 *   kutt     JSON of its API (address, target, description, visit_count, expire_in, …), or CSV of that
 *   yourls   CSV of its import-export plugin (source, target, hits), of its table (keyword, url, title,
 *            timestamp, ip, clicks); JSON of its API's `stats`
 *
 * Column names are compared without case, spaces, `_` and `-`, so releases and locales of a tool may differ.
 * Slug, target, title, tags, start, expiry, visit limit and rules become the code's; clicks, date and address of the
 * old link become metadata, because they are not scans of this service. A link with something that a code cannot do
 * (a password, a ban, a rule by city) is refused. Dub and Shlink, which have rules, have their files in vendors/.
 */
import { Failure } from '../../../model/failure.ts';
import { nameLengthMax, tagLengthMax, tagsMax } from '../rules.ts';
import { visibleLine } from '../../../model/text.ts';
import { dubLink } from './vendors/dub.ts';
import { passwordFaults, plainLink, type VendorLink } from './vendors/link.ts';
import {
  boundary,
  comparedName,
  isTrue,
  list,
  rowOf,
  text,
  time,
  type VendorRow,
  whole,
  within,
} from './vendors/row.ts';
import { shlinkLink } from './vendors/shlink.ts';

export const vendorFormats = ['bitly', 'dub', 'shlink', 'kutt', 'yourls'] as const;
export type VendorFormat = (typeof vendorFormats)[number];

export interface VendorCode {
  /** As bodies of single creates, not yet checked: one for each address of the link; or why it cannot be a code. */
  readonly values: ReadonlyArray<Record<string, unknown> | Failure>;
  /** Data of the link that its codes lack, each as a sentence. */
  readonly lost: readonly string[];
  /** Host of the old short link, lower case; undefined when the export does not say. */
  readonly domain: string | undefined;
  /** Both as the export has them, for a report: a refused link has no body. */
  readonly slug: string | undefined;
  readonly target: string | undefined;
}

/** An expiry that has passed: for links whose visits are used up. */
const longAgo = '1970-01-01T00:00:00.000Z';

/** Which tool wrote these columns or keys; undefined when none of the known ones did. */
export function recognizeVendorExport(names: readonly string[]): VendorFormat | undefined {
  const known = new Set(names.map(comparedName));
  const has = (...wanted: string[]): boolean => wanted.every((name) => known.has(name));
  if (has('keyword', 'url') || has('source', 'target', 'hits')) return 'yourls';
  if (has('shorturl', 'url', 'timestamp', 'clicks')) return 'yourls';
  if (has('address', 'target')) return 'kutt';
  if (has('shortcode', 'longurl')) return 'shlink';
  if (has('shortlink', 'destinationurl') || has('domain', 'key', 'url')) return 'dub';
  const hasLink = ['link', 'bitlink', 'customlink'].some((name) => has(name));
  return hasLink && (has('destinationurl') || has('longurl')) ? 'bitly' : undefined;
}

/** Data of links that a table of this tool lacks, as a sentence; undefined if its columns have all. */
export function missingFromTable(
  format: VendorFormat,
  names: readonly string[],
): string | undefined {
  const known = new Set(names.map(comparedName));
  if (format === 'dub' && !known.has('geo')) {
    return 'The CSV of Dub leaves out rules, expiry and passwords of links; the JSON of its API has them';
  }
  if (format === 'shlink' && !known.has('meta')) {
    return 'The CSV of Shlink leaves out rules, dates and visit limits of links; the JSON of its API has them';
  }
  return undefined;
}

/** The columns that the reader of this tool's rows never asks for. */
export function unusedColumns(format: VendorFormat, names: readonly string[]): readonly string[] {
  const asked = new Set<string>();
  const row = new Map<string, unknown>();
  row.get = (name) => void asked.add(name);
  readers[format](row, 0);
  return names.filter((name) => name !== '' && !asked.has(comparedName(name)));
}

/**
 * A row of an export as what single creates would have as their bodies.
 * @param nowMs decides what has ended
 * @param wanted host whose addresses are taken; absent, or without one of the link = the host of its first address
 */
export function vendorCode(
  format: VendorFormat,
  row: Readonly<Record<string, unknown>>,
  nowMs: number,
  wanted?: string,
): VendorCode {
  const link = readers[format](rowOf(row), nowMs);
  const { target, rules = [], faults = [] } = link;
  const { domain, shortUrls, lost } = addressesOf(link, wanted?.toLowerCase());
  const [slug, ...others] = shortUrls.keys();
  if (faults[0] !== undefined) {
    const failure = new Failure('validation_failed', faults[0].message, { faults });
    return { values: [failure], lost: [], domain, slug, target };
  }
  const all = [...others.slice(-1).map((last) => `${format} ${last}`), ...link.tags];
  const visible = all.map(visibleLine).filter((tag) => tag !== '');
  const tags = visible.slice(0, tagsMax).map((tag) => cut(tag, tagLengthMax));
  const more = visible.slice(tagsMax).join(', ');
  if (more !== '') lost.push(`these tags exceed ${tagsMax}: ${more}`);
  const values = [...shortUrls].map(([ownSlug, shortUrl]) => ({
    ...given('target', target),
    ...given('slug', ownSlug),
    ...given('name', nameOf(link.title)),
    ...(tags.length > 0 ? { tags } : {}),
    ...lifeOf(link),
    ...(rules.length > 0 ? { rules } : {}),
    ...given('fallbackUrl', link.fallbackUrl),
    ...(link.paused ? { paused: true } : {}),
    ...(link.passQuery ? { passQuery: true } : {}),
    metadata: { import: originOf(format, { ...link, shortUrl }) },
  }));
  return { values, lost, domain, slug, target };
}

/** The addresses of one host by their slugs, at least one, and which addresses are not among them. */
function addressesOf(link: VendorLink, wanted: string | undefined) {
  const { shortUrl, otherUrls = [], slug } = link;
  const all = shortUrl === undefined ? [] : [shortUrl, ...otherUrls];
  const hosts = all.flatMap((url) => addressOf(url)?.host ?? []);
  const host = hosts.find((one) => one === wanted) ?? hosts[0];
  const domain = link.domain?.toLowerCase() ?? host;
  if (slug !== undefined) return { domain, shortUrls: new Map([[slug, shortUrl]]), lost: [] };
  const shortUrls = new Map<string | undefined, string | undefined>();
  const lost: string[] = [];
  for (const url of all) {
    const address = addressOf(url);
    if (address === undefined) lost.push(`${url} has no host or no path`);
    else if (address.host === host) shortUrls.set(address.slug, url);
    else if (wanted === undefined) lost.push(`${url} is on another host`);
  }
  if (shortUrls.size === 0) shortUrls.set(undefined, shortUrl);
  return { domain, shortUrls, lost };
}

/** From when and for how long it works. A link whose visits are used up has ended, whenever it was to begin. */
function lifeOf({ startsAt, expiresAt, visitsMax, clicks }: VendorLink): Record<string, unknown> {
  const left = visitsMax === undefined ? undefined : Math.max(0, visitsMax - (clicks ?? 0));
  if (left === 0) return { expiresAt: longAgo };
  return {
    ...given('startsAt', startsAt),
    ...given('expiresAt', expiresAt),
    ...given('scanLimit', left),
  };
}

const readers: Readonly<Record<VendorFormat, (row: VendorRow, nowMs: number) => VendorLink>> = {
  bitly: bitlyLink,
  dub: dubLink,
  shlink: shlinkLink,
  kutt: kuttLink,
  yourls: yourlsLink,
};

/** Back-halves of one link, which become codes in one transaction. */
const backHalvesMax = 100;

/** Bitly: its CSV, or the JSON of its API. A link answers at its generated and at each custom back-half. */
function bitlyLink(row: VendorRow): VendorLink {
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

/** Kutt: the JSON of its API, or a CSV of that or of its table. */
function kuttLink(row: VendorRow): VendorLink {
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

/** YOURLS: CSV of its plugin or its table, JSON of its API. */
function yourlsLink(row: VendorRow): VendorLink {
  return {
    ...plainLink(row),
    target: text(row, 'url', 'target'),
    shortUrl: text(row, 'shorturl'),
    slug: text(row, 'keyword') ?? text(row, 'source')?.replace(/^\/+|\/+$/g, ''),
    createdAt: time(row, 'timestamp'),
    clicks: whole(row, 'clicks', 'hits'),
  };
}

/** The origin of the code, for its metadata. */
function originOf(format: VendorFormat, link: VendorLink): Record<string, unknown> {
  const isCut = nameOf(link.title) !== link.title;
  return {
    from: format,
    ...given('shortUrl', link.shortUrl),
    ...given('createdAt', link.createdAt),
    ...given('clicks', link.clicks),
    ...given('visitsMax', link.visitsMax),
    ...(isCut ? given('title', link.title?.slice(0, titleLengthMax)) : {}),
  };
}

/** Of a title in the metadata, which has 4 KB for everything. */
const titleLengthMax = 1_000;

/** A title as a name: one line, cut where it is longer than a name may be. */
function nameOf(title: string | undefined): string | undefined {
  const line = visibleLine(title ?? '');
  if (line === '') return undefined;
  return line.length <= nameLengthMax ? line : `${cut(line, nameLengthMax - 1)}…`;
}

/** Not through the middle of a surrogate pair. */
function cut(line: string, length: number): string {
  const head = line.slice(0, length);
  return head.isWellFormed() ? head : head.slice(0, -1);
}

/** Host in lower case, and everything behind it: `https://bit.ly/abc` and `bit.ly/abc` alike. */
function addressOf(shortUrl: string): { readonly host: string; readonly slug: string } | undefined {
  const [, host = '', path = ''] = /^(?:https?:\/\/)?([^/?#]+)\/([^?#]*)/i.exec(shortUrl) ?? [];
  const slug = path.replace(/\/$/, '');
  return host === '' || slug === '' ? undefined : { host: host.toLowerCase(), slug };
}

/** The field, where there is a value. */
function given<T>(name: string, value: T | undefined): Record<string, T> {
  return value === undefined ? {} : { [name]: value };
}
