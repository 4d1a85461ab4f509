/**
 * What a QR code may hold: every bound of its fields and the rules between them, in one place.
 * The API checks shapes with the numbers from here; the code book checks the rest before it writes.
 */
import { foldShortCode, type QrCodeRecord, reservedShortCodes } from '../model/code.ts';
import type { Fault } from '../model/failure.ts';
import { parseId } from '../model/ids.ts';

export const nameLengthMax = 120;
/** What a client may ask for. */
export const slugPattern = /^[A-Za-z0-9_-]{3,64}$/;
/** What a code may have: other tools gave shorter ones, which are printed and come in by an import. */
const shortCodePattern = /^[A-Za-z0-9_-]{1,64}$/;
export const tagsMax = 20;
/** 64 UTF-16 units are at most 192 bytes: a tag is part of an index key, which takes 255. */
export const tagLengthMax = 64;
export const metadataKeysMax = 50;
/** Of the metadata as JSON in UTF-8. */
export const metadataBytesMax = 4_096;
export const externalIdLengthMax = 255;
export const searchLengthMax = 200;
/** The link table counts what is left in 31 bits. */
export const scanLimitMax = 2 ** 31 - 1;
/** 9999-12-31T23:59:59.999Z: the last time ISO 8601 writes with a four-digit year. */
const expiresAtMsMax = 253_402_300_799_999;

/** Fields whose rules do not depend on how they came in: a new code, a change's result. */
export type CodeContent = { readonly slug?: string } & Pick<
  QrCodeRecord,
  | 'type'
  | 'dynamic'
  | 'name'
  | 'tags'
  | 'expiresAtMs'
  | 'scanLimit'
  | 'metadata'
  | 'externalId'
  | 'campaignId'
>;

/** Every fault of the content at once; empty when it may be stored. */
export function contentFaults(content: CodeContent): Fault[] {
  return [
    ...kindFaults(content),
    ...slugFaults(content.slug),
    ...nameFaults(content.name),
    ...lengthFaults('externalId', content.externalId, externalIdLengthMax),
    ...tagFaults(content.tags),
    ...wholeFaults('scanLimit', content.scanLimit, 1, scanLimitMax),
    ...wholeFaults('expiresAt', content.expiresAtMs, 0, expiresAtMsMax),
    ...metadataFaults(content.metadata),
    ...campaignFaults(content.campaignId),
  ];
}

function kindFaults(content: CodeContent): Fault[] {
  if (content.dynamic) {
    if (content.type === 'url') return [];
    return [fault('dynamic', 'static_only', `A code of type ${content.type} is always static`)];
  }
  const only = (path: string): Fault =>
    fault(path, 'dynamic_only', `A static code has no short link, so it takes no ${path}`);
  return [
    ...(content.slug === undefined ? [] : [only('slug')]),
    ...(content.expiresAtMs === undefined ? [] : [only('expiresAt')]),
    ...(content.scanLimit === undefined ? [] : [only('scanLimit')]),
  ];
}

function slugFaults(slug: string | undefined): Fault[] {
  if (slug === undefined) return [];
  if (!shortCodePattern.test(slug)) {
    return [fault('slug', 'invalid_slug', 'Use up to 64 letters, digits, "-" or "_"')];
  }
  if (reservedShortCodes.has(foldShortCode(slug))) {
    return [fault('slug', 'reserved', 'This word is reserved; choose another')];
  }
  return [];
}

function tagFaults(tags: readonly string[]): Fault[] {
  const faults: Fault[] = [];
  if (tags.length > tagsMax) faults.push(fault('tags', 'too_many', `At most ${tagsMax} tags`));
  for (const [at, tag] of tags.slice(0, tagsMax).entries()) {
    if (tag === '')
      faults.push(fault(`tags.${at}`, 'required', 'A tag needs at least 1 character'));
    faults.push(...lengthFaults(`tags.${at}`, tag, tagLengthMax));
  }
  return faults;
}

function metadataFaults(metadata: Readonly<Record<string, unknown>>): Fault[] {
  if (Object.keys(metadata).length > metadataKeysMax) {
    return [fault('metadata', 'too_many', `At most ${metadataKeysMax} keys`)];
  }
  const bytes = Buffer.byteLength(JSON.stringify(metadata));
  return bytes <= metadataBytesMax
    ? []
    : [fault('metadata', 'too_long', `At most ${metadataBytesMax} bytes as JSON, it has ${bytes}`)];
}

function campaignFaults(campaignId: string | undefined): Fault[] {
  if (campaignId === undefined || parseId('cmp', campaignId) !== undefined) return [];
  return [fault('campaignId', 'invalid_id', 'Not a campaign id (cmp_…)')];
}

/** Counted as the schema of OpenAPI counts: an emoji is one character, not the two of UTF-16. */
function nameFaults(name: string | undefined): Fault[] {
  const characters = name === undefined ? 0 : Array.from(name).length;
  if (characters > nameLengthMax) {
    return [fault('name', 'too_long', `At most ${nameLengthMax} characters`)];
  }
  return lengthFaults('name', name, Infinity);
}

function lengthFaults(path: string, text: string | undefined, lengthMax: number): Fault[] {
  if (text === undefined) return [];
  if (text.length > lengthMax) return [fault(path, 'too_long', `At most ${lengthMax} characters`)];
  // A lone surrogate has no UTF-8: it would come back as another text than was stored.
  return text.isWellFormed() ? [] : [fault(path, 'invalid_text', 'Not well-formed Unicode')];
}

function wholeFaults(path: string, value: number | undefined, min: number, max: number): Fault[] {
  if (value === undefined || (Number.isInteger(value) && value >= min && value <= max)) return [];
  return [fault(path, 'out_of_range', `A whole number from ${min} to ${max}`)];
}

export function fault(path: string, code: string, message: string): Fault {
  return { path, code, message };
}
