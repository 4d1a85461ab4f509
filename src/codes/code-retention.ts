/**
 * The last of a deleted code: its analytics answer for 90 days, then every trace of it goes.
 *
 *   deleted_codes: due --ask--> shards remove its numbers (scans/code-expiry.ts)
 *                      --numbersRemoved--> its records go --> ask for the next
 *
 * The entry in deleted_codes goes last, with the records, and nothing else is remembered: a code that is
 * still in it is asked for again at the next tick, whichever thread or process died in between. Removing
 * twice removes nothing. Only its short code stays for ever: taken, answered 410, never given out again.
 *
 * In a cluster each core removes the numbers from its own store (expired-numbers.ts), and the leader the records, later.
 */
import type { Clock } from '../model/clock.ts';
import type { ExpiredCode } from '../model/code.ts';
import { dayMs } from '../model/day.ts';
import { packedField } from '../store/management/code-codec.ts';
import type { Management } from '../store/management/management.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Memberships } from './memberships.ts';
import type { CodeNo } from '../model/numbers.ts';

/** Analytics of a deleted code answer this long (specification, section 3). */
export const deletedRetentionMs = 90 * dayMs;
/** Codes asked for at a time: removing their records is about 5 ms of the control thread. */
const batchMax = 200;
/** Days of conversions one transaction removes: some ms of the writer's time. */
const conversionDaysMax = 2_000;

export interface CodeRetentionOptions {
  readonly store: Management;
  readonly memberships: Memberships;
  readonly clock: Clock;
  /** Asks the shards; `numbersRemoved` is the answer. */
  readonly removeNumbers: (codes: readonly ExpiredCode[]) => void;
  /** Records go this long after the 90 days: 0 on a machine alone. */
  readonly laterMs: number;
  readonly log: Logger;
}

export class CodeRetention {
  readonly #options: CodeRetentionOptions;
  #removing: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: CodeRetentionOptions) {
    this.#options = options;
  }

  /** Looks for what is due. Every 30 s, and whenever something was removed. */
  tick(): void {
    if (this.#isClosed) return;
    const due = this.#due();
    if (due.length > 0) this.#options.removeNumbers(due);
  }

  /** The shards have removed the numbers of these. */
  numbersRemoved(codeNos: readonly CodeNo[]): void {
    this.#removing = this.#removeAll(this.#removing, codeNos);
  }

  /** Resolves when no removal is in progress. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#removing;
  }

  /** What was deleted until then is due. */
  get #dueMs(): number {
    const { clock, laterMs } = this.#options;
    return clock.now() - deletedRetentionMs - laterMs;
  }

  /** Codes whose time is over, oldest first. */
  #due(): ExpiredCode[] {
    const { store } = this.#options;
    const end: [number, number] = [this.#dueMs + 1, 0];
    const due: ExpiredCode[] = [];
    for (const [, codeNo] of store.deletedCodes.keys({ end, limit: batchMax })) {
      // What is damaged stays until it is restored.
      const packed = store.codes.get(codeNo, () => undefined);
      if (packed !== undefined) due.push({ codeNo, workspaceNo: packed[packedField.workspaceNo] });
    }
    return due;
  }

  async #removeAll(before: Promise<void>, codeNos: readonly CodeNo[]): Promise<void> {
    await before;
    try {
      for (let at = 0; at < codeNos.length && !this.#isClosed; at += batchMax) {
        await this.#remove(codeNos.slice(at, at + batchMax));
      }
      this.tick();
    } catch (err) {
      this.#options.log.error({ err }, 'removing expired codes failed, retrying');
    }
  }

  /** One transaction; what does not fit into it stays due. */
  async #remove(codeNos: readonly CodeNo[]): Promise<void> {
    await this.#options.store.environment.transaction(() => {
      let daysLeft = conversionDaysMax;
      for (const codeNo of codeNos) {
        // Others ask the shards, too, and earlier.
        if (!this.#isDue(codeNo)) continue;
        daysLeft -= this.#removeConversions(codeNo, daysLeft);
        if (daysLeft <= 0) return;
        this.#removeRecord(codeNo);
      }
    });
  }

  #isDue(codeNo: CodeNo): boolean {
    const packed = this.#options.store.codes.get(codeNo, () => undefined);
    return packed === undefined || (packed[packedField.deletedAtMs] ?? 0) <= this.#dueMs;
  }

  #removeConversions(codeNo: CodeNo, limit: number): number {
    const { conversionDays } = this.#options.store.campaigns;
    const days = [...conversionDays.keys({ start: [codeNo, 0], end: [codeNo + 1, 0], limit })];
    for (const key of days) conversionDays.remove(key);
    return days.length;
  }

  #removeRecord(codeNo: CodeNo): void {
    const { store, memberships } = this.#options;
    const packed = store.codes.get(codeNo, () => undefined);
    if (packed === undefined) return;
    const [id] = packed;
    const deletedAtMs = packed[packedField.deletedAtMs];
    if (deletedAtMs === null) throw new Error(`Cannot remove code ${codeNo}: it is not deleted`);
    memberships.removeCode(codeNo);
    store.codes.remove(codeNo);
    store.codeIds.remove(id);
    store.deletedCodes.remove([deletedAtMs, codeNo]);
  }
}
