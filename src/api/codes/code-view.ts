/**
 * A QR code record as the wire shows it. Unset optional fields are null, except `shortUrl`, which the
 * contract leaves out on static codes.
 */
import type { z } from 'zod';
import { imageContent } from '../../images/content.ts';
import { imageVersion, styleOf } from '../../images/design/style.ts';
import type { QrCodeRecord } from '../../model/code.ts';
import { isoTime } from '../../model/day.ts';
import type { qrCode, qrCodeItem } from './code-schemas.ts';
import type { CodeNo } from '../../model/numbers.ts';

export interface CodeNumbers {
  readonly scansOf: (codeNo: CodeNo) => number;
  readonly campaignIdsOf: (codeNo: CodeNo) => string[];
}

export class CodeView {
  readonly #shortUrlBase: string;
  readonly #cdnBase: string;
  readonly #numbers: CodeNumbers;

  constructor(shortUrlBase: string, cdnBase: string, numbers: CodeNumbers) {
    this.#shortUrlBase = shortUrlBase;
    this.#cdnBase = cdnBase;
    this.#numbers = numbers;
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
      campaignIds: this.#numbers.campaignIdsOf(code.no),
      expiresAt: code.expiresAtMs === undefined ? null : isoTime(code.expiresAtMs),
      scanLimit: code.scanLimit ?? null,
      metadata: code.metadata,
      design: code.design ?? null,
      externalId: code.externalId ?? null,
      scans: this.#numbers.scansOf(code.no),
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
      scans: this.#numbers.scansOf(code.no),
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
    const version = imageVersion(imageContent(code, this.#shortUrlBase), styleOf(code.design));
    return `${this.#cdnBase}/${code.id}.png?v=${version}`;
  }
}
