/**
 * Conversions, as the seller reports them. They are counted per code and UTC day, so the store grows by days, and a
 * campaign sums its days.
 *
 * A conversion may have an `externalId`: within 90 days the same id is not counted again and returns the first conversion.
 * Id, count and stored answer commit together.
 */
import type { Clock } from '../../model/clock.ts';
import type { QrCodeRecord } from '../../model/code.ts';
import { dayMs, dayOf } from '../../model/day.ts';
import { Failure } from '../../model/failure.ts';
import type { Actor } from '../../model/workspace.ts';
import type { ConversionRecord } from '../../store/management/product-tables.ts';
import type { Management } from '../../store/management/management.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

/** A name is remembered this long. */
const namesRetentionMs = 90 * dayMs;
/** Names one call of `expire` removes: some ms of the writer's time. */
const expiryBatchMax = 1_000;
/** Values are summed in ten-thousandths, so that cents stay exact up to 900 million a code and day. */
const valueScale = 10_000;

export interface ConversionDraft {
  readonly qrCodeId: string;
  readonly value: number | null;
  readonly externalId: string | undefined;
}

export interface Conversion extends ConversionDraft {
  readonly createdAtMs: number;
  /** Its name is known: the conversion was counted before. */
  readonly isRepeated: boolean;
}

export interface ConversionSum {
  readonly count: number;
  readonly value: number;
}

export interface ConversionDay extends ConversionSum {
  readonly day: number;
}

export interface ConversionsOptions {
  readonly store: Management;
  readonly clock: Clock;
  readonly codes: { find(workspaceNo: WorkspaceNo, id: string): QrCodeRecord | undefined };
}

export class Conversions {
  readonly #options: ConversionsOptions;

  constructor(options: ConversionsOptions) {
    this.#options = options;
  }

  /**
   * @param inTransaction runs inside the transaction, after its writes
   * @throws Failure validation_failed for an unknown code, conflict for a name with other fields,
   *   storage_full
   */
  async record(
    actor: Actor,
    draft: ConversionDraft,
    inTransaction?: (conversion: Conversion) => void,
  ): Promise<Conversion> {
    const { store, clock } = this.#options;
    return await store.environment.transaction(() => {
      const nowMs = clock.now();
      const known = this.#known(actor, draft, nowMs);
      const conversion: Conversion = {
        ...draft,
        createdAtMs: known?.createdAtMs ?? nowMs,
        isRepeated: known !== undefined,
      };
      if (known === undefined) {
        this.#count(this.#mustFind(actor, draft.qrCodeId), dayOf(nowMs), draft.value ?? 0);
        this.#remember(actor, conversion);
      }
      inTransaction?.(conversion);
      return conversion;
    });
  }

  /** @param fromDay @param toDay both included */
  sumOf(codeNos: Iterable<CodeNo>, fromDay: number, toDay: number): ConversionSum {
    let count = 0;
    let value = 0;
    for (const codeNo of codeNos) {
      for (const day of this.daysOf(codeNo, fromDay, toDay)) {
        count += day.count;
        value += Math.round(day.value * valueScale);
      }
    }
    return { count, value: value / valueScale };
  }

  /** The days of a code with conversions, oldest first. */
  daysOf(codeNo: CodeNo, fromDay: number, toDay: number): ConversionDay[] {
    const days: ConversionDay[] = [];
    const range = {
      start: [codeNo, fromDay] satisfies [number, number],
      end: [codeNo, toDay + 1] satisfies [number, number],
    };
    for (const { key, value } of this.#options.store.campaigns.conversionDays.range(range)) {
      days.push({ day: key[1], count: value[0], value: value[1] / valueScale });
    }
    return days;
  }

  /** Removes expired ids, one batch. @returns how many; a full batch means that more may wait */
  async expire(): Promise<number> {
    const { store, clock } = this.#options;
    const { conversionExpiry, conversionKeys } = store.campaigns;
    return await conversionExpiry.expire(clock.now(), expiryBatchMax, (...key) =>
      conversionKeys.remove(key),
    );
  }

  #known(
    { workspaceNo }: Actor,
    { qrCodeId, value, externalId }: ConversionDraft,
    nowMs: number,
  ): ConversionRecord | undefined {
    if (externalId === undefined) return undefined;
    const known = this.#options.store.campaigns.conversionKeys.get([workspaceNo, externalId]);
    if (known === undefined || known.createdAtMs + namesRetentionMs <= nowMs) return undefined;
    if (known.qrCodeId === qrCodeId && known.value === value) return known;
    throw new Failure(
      'conflict',
      'This externalId was used for another conversion, expected the same code and value',
    );
  }

  #remember(
    { workspaceNo }: Actor,
    { qrCodeId, value, externalId, createdAtMs }: Conversion,
  ): void {
    if (externalId === undefined) return;
    const { conversionExpiry, conversionKeys } = this.#options.store.campaigns;
    conversionKeys.put([workspaceNo, externalId], { qrCodeId, value, createdAtMs });
    conversionExpiry.set([workspaceNo, externalId], createdAtMs + namesRetentionMs);
  }

  #count({ no }: QrCodeRecord, day: number, value: number): void {
    const { conversionDays } = this.#options.store.campaigns;
    const [count, options] = conversionDays.get([no, day]) ?? [0, 0];
    conversionDays.put([no, day], [count + 1, options + Math.round(value * valueScale)]);
  }

  #mustFind(actor: Actor, qrCodeId: string): QrCodeRecord {
    const code = this.#options.codes.find(actor.workspaceNo, qrCodeId);
    if (code !== undefined) return code;
    const message = 'There is no QR code with this id';
    const faults = [{ path: 'qrCodeId', code: 'unknown_code', message }];
    throw new Failure('validation_failed', message, { faults });
  }
}
