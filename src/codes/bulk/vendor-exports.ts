/**
 * What other tools write when their links are taken out, and what of it becomes a QR code.
 *
 *   bitly    CSV: Link, Custom Link, Destination URL, Title, Tags, Date Created, clicks or engagements; or its
 *            API's link, long_url, custom_bitlinks, title, tags, created_at
 *   dub      CSV: Short link, Destination URL, Clicks, Created at, Updated at, Tags, Archived
 *   shlink   CSV of its web client: createdAt, title, shortUrl, domain, shortCode, longUrl, tags, visits; the
 *            columns of `short-url:list`: Short code, Short URL, Long URL, Date created, Tags; JSON of its API
 *   kutt     JSON of its API (address, target, description, visit_count, expire_in, …), or CSV of that
 *   yourls   CSV of its import-export plugin (source, target, hits), of its table (keyword, url, title,
 *            timestamp, ip, clicks); JSON of its API's `stats`
 *
 * Column names are compared without case, spaces, `_` and `-`, so releases and locales of a tool may differ.
 * Slug, target, title, tags, expiry and visit limit become the code's; clicks, date and address of the old
 * link stay as metadata, because they are no scans of this service. What the old link did and a code cannot do
 * (a password, a ban) is refused rather than lost.
 */
import { Failure } from '../../model/failure.ts';
import { nameLengthMax, tagLengthMax, tagsMax } from '../rules.ts';
import { visibleLine } from '../../model/text.ts';

export const vendorFormats = ['bitly', 'dub', 'shlink', 'kutt', 'yourls'] as const;
export type VendorFormat = (typeof vendorFormats)[number];

/** A row of an export: values under compared names. */
type VendorRow = ReadonlyMap<string, unknown>;

/** Of one link, as a tool has it. */
interface VendorLink {
  readonly target: string | undefined;
  /** Address of the old short link, where the tool writes one. */
  readonly shortUrl: string | undefined;
  readonly slug: string | undefined;
  readonly domain: string | undefined;
  readonly title: string | undefined;
  readonly tags: readonly string[];
  readonly createdAt: string | undefined;
  readonly clicks: number | undefined;
  readonly expiresAt: string | undefined;
  /** Visits the old link would have taken in all. */
  readonly visitsMax: number | undefined;
  /** Why it cannot be a code. */
  readonly refusal: Failure | undefined;
}

export interface VendorCode {
  /** As the body of a single create, not yet checked; or why it cannot be one. */
  readonly value: Record<string, unknown> | Failure;
  /** Host of the old short link, lower case; undefined when the export does not say. */
  readonly domain: string | undefined;
}

/** An expiry that has passed: for links whose visits are used up. */
const longAgo = '1970-01-01T00:00:00.000Z';
const separators = /[|,;]/;

/** Which tool wrote these columns or keys; undefined when none of the known ones did. */
export function recogniseVendorExport(names: readonly string[]): VendorFormat | undefined {
  const known = new Set(names.map(comparedName));
  const has = (...wanted: string[]): boolean => wanted.every((name) => known.has(name));
  if (has('keyword', 'url') || has('source', 'target', 'hits')) return 'yourls';
  if (has('shorturl', 'url', 'timestamp', 'clicks')) return 'yourls';
  if (has('address', 'target')) return 'kutt';
  if (has('shortcode', 'longurl')) return 'shlink';
  if (has('shortlink', 'destinationurl') || has('domain', 'key', 'url')) return 'dub';
  if (has('link', 'destinationurl') || has('link', 'longurl') || has('customlink', 'longurl')) {
    return 'bitly';
  }
  return undefined;
}

/** A row of an export as what a single create would have as its body. */
export function vendorCode(
  format: VendorFormat,
  row: Readonly<Record<string, unknown>>,
): VendorCode {
  const link = readers[format](new Map(entriesOf(row)));
  const address = link.shortUrl === undefined ? undefined : addressOf(link.shortUrl);
  const domain = (link.domain ?? address?.host)?.toLowerCase();
  if (link.refusal !== undefined) return { value: link.refusal, domain };
  const slug = link.slug ?? address?.slug;
  const left =
    link.visitsMax === undefined ? undefined : Math.max(0, link.visitsMax - (link.clicks ?? 0));
  const expiresAt = left === 0 ? longAgo : link.expiresAt;
  const value = {
    ...given('target', link.target),
    ...given('slug', slug),
    ...given('name', nameOf(link.title)),
    ...(link.tags.length > 0 ? { tags: tagsOf(link.tags) } : {}),
    ...given('expiresAt', expiresAt),
    ...(left === undefined || left === 0 ? {} : { scanLimit: left }),
    metadata: { import: originOf(format, link) },
  };
  return { value, domain };
}

const readers: Readonly<Record<VendorFormat, (row: VendorRow) => VendorLink>> = {
  bitly: (row) => ({
    ...plain(row),
    target: text(row, 'destinationurl', 'longurl', 'destination'),
    shortUrl:
      text(row, 'customlink') ??
      list(row, 'custombitlinks')[0] ??
      text(row, 'link', 'bitlink', 'id'),
    createdAt: time(row, 'datecreated', 'createddate', 'creationdate', 'createdat', 'created'),
    clicks: whole(row, 'engagements', 'totalengagements', 'clicks', 'totalclicks', 'linkclicks'),
  }),
  dub: (row) => ({
    ...plain(row),
    target: text(row, 'destinationurl', 'url'),
    shortUrl: text(row, 'shortlink', 'link'),
    slug: text(row, 'key'),
    clicks: whole(row, 'clicks'),
    expiresAt: expiry(row, 'expiresat'),
  }),
  shlink: (row) => ({
    ...plain(row),
    target: text(row, 'longurl'),
    shortUrl: text(row, 'shorturl'),
    slug: text(row, 'shortcode'),
    createdAt: time(row, 'createdat', 'datecreated'),
    clicks: whole(row, 'visits', 'visitscount') ?? whole(within(row, 'visitssummary'), 'total'),
    expiresAt: expiry(within(row, 'meta'), 'validuntil'),
    visitsMax: whole(within(row, 'meta'), 'maxvisits'),
  }),
  kutt: (row) => ({
    ...plain(row),
    target: text(row, 'target'),
    shortUrl: text(row, 'link') ?? text(within(row, 'link'), 'url'),
    slug: text(row, 'address'),
    title: text(row, 'description'),
    clicks: whole(row, 'visitcount'),
    expiresAt: expiry(row, 'expirein'),
    refusal: kuttRefusal(row),
  }),
  yourls: (row) => ({
    ...plain(row),
    target: text(row, 'url', 'target'),
    shortUrl: text(row, 'shorturl'),
    slug: text(row, 'keyword') ?? text(row, 'source')?.replace(/^\/+|\/+$/g, ''),
    createdAt: time(row, 'timestamp'),
    clicks: whole(row, 'clicks', 'hits'),
  }),
};

/** Under the names that all tools share. */
function plain(row: VendorRow): VendorLink {
  return {
    target: undefined,
    shortUrl: undefined,
    slug: undefined,
    domain: text(row, 'domain'),
    title: text(row, 'title'),
    tags: list(row, 'tags'),
    createdAt: time(row, 'createdat'),
    clicks: undefined,
    expiresAt: undefined,
    visitsMax: undefined,
    refusal: undefined,
  };
}

function kuttRefusal(row: VendorRow): Failure | undefined {
  if (isTrue(row.get('banned'))) return refusal('banned', 'The link was banned');
  const password = row.get('password');
  // True in the API's answer, the hash in a dump of the table.
  const hasPassword = isTrue(password) || (text(row, 'password')?.length ?? 0) > 'false'.length;
  if (!hasPassword) return undefined;
  return refusal('password', 'The link asks for a password, which a QR code cannot');
}

function refusal(code: string, message: string): Failure {
  return new Failure('validation_failed', message, { faults: [{ path: '', code, message }] });
}

/** Where the code comes from, kept with it. */
function originOf(format: VendorFormat, link: VendorLink): Record<string, unknown> {
  const isCut = link.tags.length > tagsMax || nameOf(link.title) !== link.title;
  return {
    from: format,
    ...given('shortUrl', link.shortUrl),
    ...given('createdAt', link.createdAt),
    ...given('clicks', link.clicks),
    ...given('visitsMax', link.visitsMax),
    ...(isCut ? given('title', link.title?.slice(0, titleLengthMax)) : {}),
  };
}

/** Of a title kept in full: metadata has 4 KB for everything. */
const titleLengthMax = 1_000;

/** A title as a name: one line, cut where it is longer than a name may be. */
function nameOf(title: string | undefined): string | undefined {
  const line = visibleLine(title ?? '');
  if (line === '') return undefined;
  return line.length <= nameLengthMax ? line : `${cut(line, nameLengthMax - 1)}…`;
}

function tagsOf(tags: readonly string[]): string[] {
  const visible = tags.map(visibleLine).filter((tag) => tag !== '');
  return visible.slice(0, tagsMax).map((tag) => cut(tag, tagLengthMax));
}

/** Not through the middle of a surrogate pair. */
function cut(line: string, length: number): string {
  const head = line.slice(0, length);
  return head.isWellFormed() ? head : head.slice(0, -1);
}

/** Host and everything behind it: `https://bit.ly/abc` and `bit.ly/abc` alike. */
function addressOf(shortUrl: string): { readonly host: string; readonly slug: string } | undefined {
  const [, host = '', path = ''] = /^(?:https?:\/\/)?([^/?#]+)\/([^?#]*)/i.exec(shortUrl) ?? [];
  const slug = path.replace(/\/$/, '');
  return host === '' || slug === '' ? undefined : { host, slug };
}

function comparedName(name: string): string {
  return name.toLowerCase().replace(/[\s_-]/g, '');
}

function entriesOf(row: Readonly<Record<string, unknown>>): Array<[string, unknown]> {
  return Object.entries(row).map(([name, value]) => [comparedName(name), value]);
}

function within(row: VendorRow, name: string): VendorRow {
  const value = row.get(name);
  return typeof value === 'object' && value !== null ? new Map(entriesOf({ ...value })) : new Map();
}

/** The first of these that is there. */
function text(row: VendorRow, ...names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = row.get(name);
    if (typeof value === 'string' && value.trim() !== '') return value.trim();
    if (typeof value === 'number') return String(value);
  }
  return undefined;
}

function whole(row: VendorRow, ...names: readonly string[]): number | undefined {
  const digits = text(row, ...names)?.replace(/[\s,.']/g, '');
  return digits !== undefined && /^\d{1,15}$/.test(digits) ? Number(digits) : undefined;
}

/** A list, or a text that separates its items; what tools put into a list may be an object with a name. */
function list(row: VendorRow, name: string): string[] {
  const value = row.get(name);
  const items: unknown[] = Array.isArray(value) ? value : (text(row, name) ?? '').split(separators);
  return items.flatMap((item) => {
    const named: unknown =
      typeof item === 'object' && item !== null ? Reflect.get(item, 'name') : item;
    return typeof named === 'string' && named.trim() !== '' ? [named.trim()] : [];
  });
}

/** In the way ISO 8601 writes it; a time without a zone is taken as UTC. */
function time(row: VendorRow, ...names: readonly string[]): string | undefined {
  const written = text(row, ...names);
  if (written === undefined) return undefined;
  const bare = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?$/.exec(written);
  const timeMs = Date.parse(bare === null ? written : `${bare[1] ?? ''}T${bare[2] ?? '00:00:00'}Z`);
  return Number.isNaN(timeMs) ? undefined : new Date(timeMs).toISOString();
}

/** One that cannot be read stays as it is, and is refused: without it the link would never end. */
function expiry(row: VendorRow, name: string): string | undefined {
  return time(row, name) ?? text(row, name);
}

function isTrue(value: unknown): boolean {
  return value === true || value === 1 || /^(true|t|1|yes)$/i.test(String(value));
}

/** The field, where there is a value. */
function given<T>(name: string, value: T | undefined): Record<string, T> {
  return value === undefined ? {} : { [name]: value };
}
