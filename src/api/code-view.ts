/**
 * A QR code record as the wire shows it. Unset optional fields are null, except `shortUrl`, which the
 * contract leaves out on static codes.
 */
import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { imageContent } from '../images/content.ts';
import type { QrCodeRecord } from '../model/code.ts';
import { isoTime } from '../model/day.ts';
import type { qrCode, qrCodeItem } from './code-schemas.ts';

/** Changes when the drawing of equal content changes: it is part of every image's version. */
const drawingVersion = 1;

export class CodeView {
  readonly #shortUrlBase: string;
  readonly #cdnBase: string;
  readonly #scansOf: (codeNo: number) => number;

  constructor(shortUrlBase: string, cdnBase: string, scansOf: (codeNo: number) => number) {
    this.#shortUrlBase = shortUrlBase;
    this.#cdnBase = cdnBase;
    this.#scansOf = scansOf;
  }

  whole(code: QrCodeRecord): z.input<typeof qrCode> {
    return {
      id: code.id,
      type: code.type,
      target: code.target,
      dynamic: code.dynamic,
      ...this.#shortUrl(code),
      imageUrl: this.#imageUrl(code),
      slug: code.shortCode ?? null,
      name: code.name ?? null,
      tags: [...code.tags],
      campaignId: code.campaignId ?? null,
      expiresAt: code.expiresAtMs === undefined ? null : isoTime(code.expiresAtMs),
      scanLimit: code.scanLimit ?? null,
      metadata: code.metadata,
      externalId: code.externalId ?? null,
      scans: this.#scansOf(code.no),
      createdBy: code.createdBy,
      createdAt: isoTime(code.createdAtMs),
      updatedAt: isoTime(code.updatedAtMs),
    };
  }

  item(code: QrCodeRecord): z.input<typeof qrCodeItem> {
    return {
      id: code.id,
      type: code.type,
      target: code.target,
      scans: this.#scansOf(code.no),
      createdAt: isoTime(code.createdAtMs),
      name: code.name ?? null,
      dynamic: code.dynamic,
      ...this.#shortUrl(code),
      imageUrl: this.#imageUrl(code),
      tags: [...code.tags],
    };
  }

  #shortUrl(code: QrCodeRecord): { shortUrl?: string } {
    if (code.shortCode === undefined) return {};
    return { shortUrl: `${this.#shortUrlBase}/${code.shortCode}` };
  }

  #imageUrl(code: QrCodeRecord): string {
    const version = imageVersion(imageContent(code, this.#shortUrlBase));
    return `${this.#cdnBase}/${code.id}.png?v=${version}`;
  }
}

/** Names what an image shows: under an equal version it may be cached for ever. */
export function imageVersion(content: string): string {
  const hash = createHash('sha256').update(`${drawingVersion}\n${content}`);
  return hash.digest('base64url').slice(0, 10);
}
