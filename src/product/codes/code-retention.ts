/**
 * Removes deleted codes: their analytics answer for 90 days, then every trace goes.
 *
 *   deleted_codes: due --ask--> shards remove its numbers (engine/counting/code-expiry.ts)
 *                      --numbersRemoved--> its records go --> ask for the next
 *
 * The entry in deleted_codes goes last, with the records. How far the shards are is in memory alone: after a restart they are
 * asked again for each entry, which is harmless. The short code stays taken for ever and answers 410.
 *
 * In a cluster each core removes the numbers from its own store, and the leader the records, `recordsLaterMs` later. A core
 * that was away for less still has everything. One that was away for longer has missed so much of the log that it takes the
 * data of another core.
 */
import type { Clock } from '../../model/clock.ts';
import type { ExpiredCode } from '../../model/code.ts';
import { dayMs } from '../../model/day.ts';
import { packedField } from '../../store/management/code-codec.ts';
import type { Management } from '../../store/management/management.ts';
import type { Logger } from '../../platform/log.ts';
import { Ticker } from '../../platform/ticker.ts';
import type { Memberships } from './memberships.ts';
import type { CodeNo } from '../../model/numbers.ts';

/** Analytics of a deleted code answer this long (specification, section 3). */
export const deletedRetentionMs = 90 * dayMs;
/** Twice as long as a core may be away and still follow the log. */
export const recordsLaterMs = 14 * dayMs;
const tickMs = 30_000;
/** Codes asked for at a time: removing their records is about 5 ms of the control thread. */
const batchMax = 200;
/** Days of conversions one transaction removes: some ms of the writer's time. */
const conversionDaysMax = 2_000;

/** A key of deleted_codes. */
type DeletedKey = [deletedAtMs: number, codeNo: CodeNo];

export interface CodeRetentionOptions {
  readonly store: Management;
  readonly clock: Pick<Clock, 'now'>;
  /** Asks the shards; `numbersRemoved` is the answer. */
  readonly removeNumbers: (codes: readonly ExpiredCode[]) => void;
  readonly memberships: Memberships;
  /** Of a core: while it does not lead, its records stay. Absent on a machine alone. */
  readonly isLeading?: (() => boolean) | undefined;
  readonly log: Logger;
}

export class CodeRetention {
  readonly #options: CodeRetentionOptions;
  readonly #ticker: Ticker;
  /** Numbers are removed before this key. */
  #position: DeletedKey = [0, 0];
  /** The codes that shards were asked to remove. Once all are removed, the position moves to `end`. */
  #batch: { readonly end: DeletedKey; readonly left: Map<CodeNo, ExpiredCode> } | undefined;
  #isClosed = false;

  constructor(options: CodeRetentionOptions) {
    this.#options = options;
    this.#ticker = new Ticker({
      everyMs: tickMs,
      log: options.log,
      failed: 'removing expired codes failed, retrying',
      resumed: 'removing expired codes resumed',
      run: () => this.tick(),
    });
  }

  start(): void {
    void this.#ticker.runNow();
  }

  /** Resolves after the transaction in progress. */
  close(): Promise<void> {
    this.#isClosed = true;
    return this.#ticker.close();
  }

  /** The shards have removed the numbers of these. */
  numbersRemoved(codeNos: readonly CodeNo[]): void {
    if (this.#batch === undefined) return;
    for (const codeNo of codeNos) this.#batch.left.delete(codeNo);
    if (this.#batch.left.size === 0) void this.#ticker.runNow();
  }

  /** Asks for what is due, again for what was not answered. @throws Failure storage_full */
  async tick(): Promise<void> {
    if (this.#batch?.left.size === 0) {
      this.#position = this.#batch.end;
      this.#batch = undefined;
    }
    await this.#removeRecords();
    this.#batch ??= this.#due();
    if (this.#batch !== undefined) this.#options.removeNumbers([...this.#batch.left.values()]);
  }

  /** The next codes whose time is over, oldest first. */
  #due() {
    const { store, clock } = this.#options;
    const end: DeletedKey = [clock.now() - deletedRetentionMs + 1, 0];
    const keys = [...store.deletedCodes.keys({ start: this.#position, end, limit: batchMax })];
    const last = keys.at(-1);
    if (last === undefined) return undefined;
    const left = new Map<CodeNo, ExpiredCode>();
    for (const [, codeNo] of keys) {
      // A damaged record and its numbers stay until a restore.
      const packed = store.codes.get(codeNo, () => undefined);
      if (packed === undefined) continue;
      left.set(codeNo, { codeNo, workspaceNo: packed[packedField.workspaceNo] });
    }
    return { end: after(last), left };
  }

  /** Of codes whose numbers are gone. */
  async #removeRecords(): Promise<void> {
    const { store, clock, isLeading } = this.#options;
    if (isLeading?.() === false) return;
    const laterMs = isLeading === undefined ? 0 : recordsLaterMs;
    const dueMs = clock.now() - deletedRetentionMs - laterMs;
    const end: DeletedKey = this.#position[0] > dueMs ? [dueMs + 1, 0] : this.#position;
    let start: DeletedKey = [0, 0];
    while (!this.#isClosed) {
      const keys = [...store.deletedCodes.keys({ start, end, limit: batchMax })];
      if (keys.length === 0) return;
      start = await store.environment.transaction(() => this.#remove(keys));
    }
  }

  /** One transaction. @returns where to continue */
  #remove(keys: readonly DeletedKey[]): DeletedKey {
    const { store, memberships } = this.#options;
    let position: DeletedKey = [0, 0];
    let daysLeft = conversionDaysMax;
    for (const key of keys) {
      position = after(key);
      const [, codeNo] = key;
      const packed = store.codes.get(codeNo, () => undefined);
      if (packed === undefined) continue;
      daysLeft -= this.#removeConversions(codeNo, daysLeft);
      if (daysLeft <= 0) return key;
      memberships.removeCode(codeNo);
      store.codes.remove(codeNo);
      store.codeIds.remove(packed[packedField.id]);
      store.deletedCodes.remove(key);
    }
    return position;
  }

  #removeConversions(codeNo: CodeNo, limit: number): number {
    const { conversionDays } = this.#options.store.campaigns;
    const days = [...conversionDays.keys({ start: [codeNo, 0], end: [codeNo + 1, 0], limit })];
    for (const key of days) conversionDays.remove(key);
    return days.length;
  }
}

const after = ([deletedAtMs, codeNo]: DeletedKey): DeletedKey => [deletedAtMs, codeNo + 1];
