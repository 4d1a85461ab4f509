/**
 * A QR code record as the wire shows it. Unset optional fields are null, except `shortUrl`, which the
 * contract leaves out on static codes.
 */
import type { z } from 'zod';
import { shownRoutes } from '../../product/codes/routing/route-fields.ts';
import { fault } from '../../product/codes/rules.ts';
import { unreachableRules } from '../../product/codes/routing/unreachable.ts';
import { tagOf } from '../../platform/uws/headers.ts';
import { imageContent } from '../../product/images/content.ts';
import { imageVersion, styleOf } from '../../product/images/design/style.ts';
import type { CampaignRecord } from '../../model/campaign.ts';
import type { Clock } from '../../model/clock.ts';
import { codeStatusAt, type CodeStatus, type QrCodeRecord } from '../../model/code.ts';
import { formatDay, isoTime } from '../../model/day.ts';
import { timeOrNull } from '../workspaces/people.ts';
import type { qrCode, qrCodeItem } from './code-schemas.ts';
import type { CodeNo } from '../../model/numbers.ts';

export interface CodeNumbers {
  readonly scansOf: (codeNo: CodeNo) => number;
  /** Oldest first, at most 100. */
  readonly campaignsOf: (codeNo: CodeNo) => readonly CampaignRecord[];
  readonly clock: Clock;
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
    const campaigns = this.#numbers.campaignsOf(code.no);
    return {
      ...this.#shared(code, campaigns),
      campaigns: campaigns.map(({ id, name, startDay, endDay }) => ({
        id,
        name,
        startDate: formatDay(startDay),
        endDate: endDay === undefined ? null : formatDay(endDay),
      })),
      scanLimit: code.scanLimit ?? null,
      metadata: code.metadata,
      design: code.design ?? null,
      ...shownRoutes(code.routing),
      externalId: code.externalId ?? null,
      createdBy: code.createdBy,
      updatedAt: isoTime(code.updatedAtMs),
    };
  }

  /** The answer to a change: with what may be a mistake in it. */
  changed(code: QrCodeRecord): z.input<typeof qrCode> {
    const isLate = (code.expiresAtMs ?? Infinity) <= code.createdAtMs;
    const warnings = [
      ...unreachableRules(code.routing?.rules ?? []),
      ...(isLate ? [fault('expiresAt', 'past', 'It is before the creation')] : []),
    ];
    return warnings.length === 0 ? this.whole(code) : { ...this.whole(code), warnings };
  }

  /** Names what can be changed of it: a scan makes no other tag. */
  tag(code: QrCodeRecord): string {
    const { scans: _scans, status: _status, campaigns: _campaigns, ...rest } = this.whole(code);
    return tagOf(JSON.stringify(rest));
  }

  item(code: QrCodeRecord): z.input<typeof qrCodeItem> {
    return this.#shared(code, this.#numbers.campaignsOf(code.no));
  }

  #shared(code: QrCodeRecord, campaigns: readonly CampaignRecord[]): z.input<typeof qrCodeItem> {
    const scans = this.#numbers.scansOf(code.no);
    return {
      id: code.id,
      type: code.type,
      target: code.target,
      status: this.#status(code, scans),
      scans,
      createdAt: isoTime(code.createdAtMs),
      name: code.name ?? null,
      dynamic: code.dynamic,
      ...this.#shortUrl(code),
      imageUrl: this.#imageUrl(code),
      slug: code.shortCode ?? null,
      tags: [...code.tags],
      campaignIds: campaigns.map(({ id }) => id),
      expiresAt: timeOrNull(code.expiresAtMs),
    };
  }

  #status(code: QrCodeRecord, scans: number): CodeStatus {
    const { routing, expiresAtMs, scanLimit } = code;
    const bounds = { ...routing, expiresAtMs, scanLimit };
    return codeStatusAt(bounds, this.#numbers.clock.now(), () => scans);
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
