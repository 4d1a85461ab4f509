/**
 * GET {cdn}/{id}.png|.svg|.pdf|.eps|.webp: the image of a code, for anyone who has its address. It needs no
 * key, counts for no quota, and has no parameter that changes the design.
 *
 * With `?v=` and the image's current version, as in `imageUrl`, it may be cached for ever; otherwise for
 * five minutes. A deleted code is 410 at once, though caches may keep the copy they have.
 */
import { isKnown } from '../../platform/uws/headers.ts';
import type { Reply, Request } from '../../platform/uws/request.ts';
import { imageContent } from '../../product/images/content.ts';
import { type ImageFormat, imageFormats, pointsOf } from '../../product/images/formats.ts';
import { attachment } from '../../product/images/file-name.ts';
import type { ImageAnswer } from '../../product/images/image-cache.ts';
import type { RenderedImage } from '../../product/images/image-service.ts';
import { imageVersion, styleOf } from '../../product/images/design/style.ts';
import { parseId } from '../../model/ids.ts';
import { Failure, invalid } from '../../model/failure.ts';
import type { QrCodeRecord } from '../../model/code.ts';
import { imageQuery } from './image-schemas.ts';
import { readQuery } from '../kernel/route.ts';
import type { ApiServices } from '../services.ts';

const filePattern = /^\/i\/(qr_[0-9a-z]{20})\.([a-z]{3,4})$/;

const maxAge = 'public, max-age=300';
const forEver = 'public, max-age=31536000, immutable';
/** An SVG opened by itself is a document: it may load its embedded logo, and nothing else. */
const documentPolicy = "default-src 'none'; img-src data:";

/** @throws Failure not_found, gone, validation_failed, overloaded */
export async function imageReply(services: ApiServices, request: Request): Promise<Reply> {
  const { images, imageCache } = services;
  const { shortUrlBase } = services.config;
  const { code, format } = findCode(services, request.path);
  const { mm, download, v, size: edge } = readQuery(imageQuery, request.query);
  const size = mm === undefined ? edge : printSize(mm, format);
  const content = imageContent(code, shortUrlBase);
  const style = styleOf(code.design);
  const version = imageVersion(content, style);
  const cacheControl = v === version ? forEver : maxAge;
  const disposition = download === '1' ? attachment(code.name, code.id, format) : undefined;
  // Queries of the same meaning share an image. A renamed code is another file.
  const key = [request.path, size, version, cacheControl, disposition].join(' ');
  let answer = imageCache.get(key);
  if (answer === undefined) {
    const image = await images.render({ content, format, size, style });
    answer = answerOf(image, { format, cacheControl, disposition });
    imageCache.set(key, answer);
  }
  const { ETag } = answer.headers;
  if (!isKnown(request.header('if-none-match'), ETag)) return answer;
  return { status: 304, headers: commonHeaders(ETag, cacheControl) };
}

function findCode(
  { codes }: ApiServices,
  path: string,
): { code: QrCodeRecord; format: ImageFormat } {
  const match = filePattern.exec(path);
  const id = parseId('qr', match?.[1] ?? '');
  const format = imageFormats.find((name) => name === match?.[2]);
  const code = id === undefined ? undefined : codes.findAnywhere(id);
  if (code === undefined || format === undefined) {
    throw new Failure('not_found', 'Image not found');
  }
  if (code.deletedAtMs !== undefined) throw new Failure('gone', 'This QR code was deleted');
  return { code, format };
}

/** @throws Failure validation_failed for a format of pixels */
function printSize(millimetres: number, format: ImageFormat): number {
  const points = pointsOf(millimetres, format);
  if (points !== undefined) return points;
  const message = 'Millimeters are for PDF and EPS; expected `size` in pixels';
  throw invalid('mm', 'not_for_this_format', message);
}

function answerOf(
  { bytes, etag, contentType }: RenderedImage,
  options: { format: ImageFormat; cacheControl: string; disposition: string | undefined },
): ImageAnswer {
  const { format, cacheControl, disposition } = options;
  return {
    status: 200,
    headers: {
      ...commonHeaders(etag, cacheControl),
      'Content-Type': contentType,
      ...(format === 'svg' ? { 'Content-Security-Policy': documentPolicy } : {}),
      ...(disposition === undefined ? {} : { 'Content-Disposition': disposition }),
    },
    body: bytes,
  };
}

function commonHeaders(ETag: string, cacheControl: string) {
  return {
    ETag,
    'Cache-Control': cacheControl,
    'Access-Control-Allow-Origin': '*',
  };
}
