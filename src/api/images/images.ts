/**
 * GET {cdn}/{id}.png|.svg|.pdf|.eps|.webp: the picture of a code, for anyone who has its address. No key,
 * no quota, no say in how it looks.
 *
 * With `?v=` naming what the picture shows, as in `imageUrl`, it may be cached for ever; without, for
 * five minutes. A deleted code is 410 at once, though caches may keep what they have.
 */
import type { Codes } from '../../codes/codes.ts';
import type { Reply, Request } from '../../http/request.ts';
import { imageContent } from '../../images/content.ts';
import { imageFormats } from '../../images/draw/drawing.ts';
import { imageVersion, styleOf } from '../../images/design/style.ts';
import { parseId } from '../../model/ids.ts';
import { Failure } from '../../model/failure.ts';
import { imageQuery } from './image-schemas.ts';
import { readQuery } from '../route.ts';
import type { ImageDrawing } from '../services.ts';

const filePattern = /^\/i\/(qr_[0-9a-z]{20})\.([a-z]{3,4})$/;

const maxAge = 'public, max-age=300';
const forEver = 'public, max-age=31536000, immutable';
/** An SVG opened by itself is a document: it may show the logo that it holds, and nothing else. */
const documentPolicy = "default-src 'none'; img-src data:";

export interface ImagesOptions {
  readonly codes: Codes;
  readonly images: ImageDrawing;
  readonly shortUrlBase: string;
}

/** @throws Failure not_found, gone, validation_failed, method_not_allowed, overloaded */
export async function imageReply(
  { codes, images, shortUrlBase }: ImagesOptions,
  request: Request,
): Promise<Reply> {
  const match = filePattern.exec(request.path);
  const id = parseId('qr', match?.[1] ?? '');
  const format = imageFormats.find((name) => name === match?.[2]);
  const code = id === undefined ? undefined : codes.findAnywhere(id);
  if (code === undefined || format === undefined) {
    throw new Failure('not_found', 'There is no such image');
  }
  if (code.deletedAtMs !== undefined) throw new Failure('gone', 'This QR code was deleted');
  const { size, download, v } = readQuery(imageQuery, request.query);
  const content = imageContent(code, shortUrlBase);
  const look = styleOf(code.design);
  const { bytes, etag, contentType } = await images.render({ content, format, size, look });
  const headers: Record<string, string> = {
    ETag: etag,
    'Cache-Control': v !== undefined && v === imageVersion(content, look) ? forEver : maxAge,
    'X-Content-Type-Options': 'nosniff',
    'Access-Control-Allow-Origin': '*',
  };
  if (isKnown(request.header('if-none-match'), etag)) return { status: 304, headers };
  headers['Content-Type'] = contentType;
  if (format === 'svg') headers['Content-Security-Policy'] = documentPolicy;
  if (download === '1') {
    headers['Content-Disposition'] = `attachment; filename="${code.id}.${format}"`;
  }
  return { status: 200, headers, body: bytes };
}

/** RFC 9110, 13.1.2: weak comparison. */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  return ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}
