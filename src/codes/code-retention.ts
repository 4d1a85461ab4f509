/**
 * The last of a deleted code: its analytics answer for 90 days, then every trace of it goes.
 *
 *   deleted_codes says who is due -> the shards remove its numbers (scans/purge.ts) -> `forget`
 *
 * `forget` comes last and takes the entry that says so with it, so whatever dies on the way is done
 * again. What stays for ever is its short code, taken and gone: 410, and never given out again.
 */
import type { Clock } from '../model/clock.ts';
import { dayMs } from '../model/day.ts';
import type { Management } from '../store/management/management.ts';
import type { Memberships } from './memberships.ts';

/** Analytics of a deleted code answer this long (specification, section 3). */
export const deletedRetentionMs = 90 * dayMs;
/** Days of conversions one transaction removes: some ms of the writer's time. */
const conversionDaysMax = 2_000;

export interface DueCode {
  readonly codeNo: number;
  readonly workspaceNo: number;
}

export class CodeRetention {
  readonly #store: Management;
  readonly #memberships: Memberships;
  readonly #clock: Clock;

  constructor(store: Management, memberships: Memberships, clock: Clock) {
    this.#store = store;
    this.#memberships = memberships;
    this.#clock = clock;
  }

  /** Codes whose time is over, oldest first. */
  due(limit: number): DueCode[] {
    const { codes, deletedCodes } = this.#store;
    const end: [number, number] = [this.#clock.now() - deletedRetentionMs + 1, 0];
    const due: DueCode[] = [];
    for (const [, codeNo] of deletedCodes.keys({ end, limit })) {
      const packed = codes.get(codeNo);
      if (packed !== undefined) due.push({ codeNo, workspaceNo: packed[1] });
    }
    return due;
  }

  /** Removes what is left of codes without numbers. One transaction; what does not fit into it stays due. */
  async forget(codeNos: readonly number[]): Promise<void> {
    await this.#store.environment.transaction(() => {
      let daysLeft = conversionDaysMax;
      for (const codeNo of codeNos) {
        daysLeft -= this.#forgetConversions(codeNo, daysLeft);
        if (daysLeft <= 0) return;
        this.#forgetRecord(codeNo);
      }
    });
  }

  #forgetConversions(codeNo: number, limit: number): number {
    const { conversionDays } = this.#store.campaigns;
    const days = [...conversionDays.keys({ start: [codeNo, 0], end: [codeNo + 1, 0], limit })];
    for (const key of days) conversionDays.remove(key);
    return days.length;
  }

  #forgetRecord(codeNo: number): void {
    const { codes, codeIds, deletedCodes } = this.#store;
    const packed = codes.get(codeNo);
    if (packed === undefined) return;
    const [id] = packed;
    const deletedAtMs = packed[17];
    if (deletedAtMs === null) throw new Error(`Cannot forget code ${codeNo}: it is not deleted`);
    this.#memberships.forgetCode(codeNo);
    codes.remove(codeNo);
    codeIds.remove(id);
    deletedCodes.remove([deletedAtMs, codeNo]);
  }
}
