/**
 * The rules of a QR code. Schemas check the bounds of single fields (api/codes/code-schemas.ts), for a request, a row of
 * many and a row of an import. Rules over several fields, or over what is stored, are checked here before a code is written.
 */
import { foldShortCode, type QrCodeRecord, reservedShortCodes } from '../../model/code.ts';
import type { Fault } from '../../model/failure.ts';

export const nameLengthMax = 120;
/** Of a client's own slug. */
export const slugPattern = /^[A-Za-z0-9_-]{3,64}$/;
/**
 * Of an imported slug, which is printed already: YOURLS counts from 1, and slugs of Shlink, Dub and YOURLS may have
 * several segments (`menu/summer`). The same letters, 1 to 64 with the slashes, no segment empty: neither `..` nor an
 * encoded slash can be among them, so that a path means the same to every proxy before the redirect.
 */
export const importedSlugPattern = /^(?!.{65})[A-Za-z0-9_-]+(?:\/[A-Za-z0-9_-]+)*$/;
export const tagsMax = 20;
/** 64 UTF-16 units are at most 192 bytes: a tag is part of an index key, which takes 255. */
export const tagLengthMax = 64;
const metadataKeysMax = 50;
/** Of the metadata as JSON in UTF-8. */
const metadataBytesMax = 4_096;
export const externalIdLengthMax = 255;
export const searchLengthMax = 200;
/** Each common word costs another pass over the texts. */
export const searchWordsMax = 10;
/** The link table counts what is left in 31 bits. */
export const scanLimitMax = 2 ** 31 - 1;
/** 9999-12-31T23:59:59.999Z: the last time ISO 8601 writes with a four-digit year. */
export const expiresAtMsMax = 253_402_300_799_999;

export type CodeContent = Pick<QrCodeRecord, 'type' | 'dynamic' | 'metadata'> & {
  readonly slug?: string | undefined;
  readonly expiresAtMs?: number | undefined;
  readonly scanLimit?: number | undefined;
};

/** Every fault of the content at once; empty when it may be stored. */
export function contentFaults(content: CodeContent): Fault[] {
  return [
    ...kindFaults(content),
    ...reservedFaults(content.slug),
    ...metadataFaults(content.metadata),
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

function reservedFaults(slug: string | undefined): Fault[] {
  const [first] = foldShortCode(slug ?? '').split('/');
  if (first === undefined || !reservedShortCodes.has(first)) return [];
  return [fault('slug', 'reserved', 'This word is reserved; choose another')];
}

/** A merge patch adds to what is stored, so that only the result shows whether it fits. */
export function metadataFaults(metadata: Readonly<Record<string, unknown>>): Fault[] {
  if (Object.keys(metadata).length > metadataKeysMax) {
    return [fault('metadata', 'too_many', `At most ${metadataKeysMax} keys`)];
  }
  const bytes = Buffer.byteLength(JSON.stringify(metadata));
  return bytes <= metadataBytesMax
    ? []
    : [fault('metadata', 'too_long', `At most ${metadataBytesMax} bytes as JSON, it has ${bytes}`)];
}

export function fault(path: string, code: string, message: string): Fault {
  return { path, code, message };
}
