/**
 * On every core of a cluster, leading or not: numbers of deleted codes whose 90 days are over are removed from its own store
 * of scans, as code-retention.ts does it on a machine alone.
 *
 *   deleted_codes, from the position on --due--> own shards remove the numbers --all of them--> position
 *
 * The position is in the store of scans, so it goes with what it is about. The leader removes the records, and the entry of
 * deleted_codes, `recordsLaterMs` after the numbers. A core that was away for less finds everything there when it is back;
 * one that was away for longer has missed so much of the log that it takes the data of another core.
 */
import { type ExpiredCode } from '../model/code.ts';
import { dayMs } from '../model/day.ts';
import type { Clock } from '../model/clock.ts';
import type { CodeNo } from '../model/numbers.ts';
import type { Table } from '../store/environment.ts';
import { packedField } from '../store/management/code-codec.ts';
import type { Management } from '../store/management/management.ts';
import type { ScanStore } from '../store/scans/scans.ts';
import type { Logger } from '../telemetry/log.ts';
import { Ticker } from '../telemetry/ticker.ts';
import { deletedRetentionMs } from './code-retention.ts';

/** Twice as long as a core may be away and go on with the log. */
export const recordsLaterMs = 14 * dayMs;
const tickMs = 30_000;
/** Codes asked for at a time. */
const batchMax = 200;
const positionKey = 'expired codes';

/** A key of deleted_codes. */
type DeletedKey = [deletedAtMs: number, codeNo: CodeNo];

export interface ExpiredNumbersOptions {
  readonly store: Pick<Management, 'codes' | 'deletedCodes'>;
  readonly scans: Pick<ScanStore, 'environment'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Logger;
  /** Asks the shards; `numbersRemoved` is the answer. */
  readonly removeNumbers: (codes: readonly ExpiredCode[]) => void;
}

export class ExpiredNumbers {
  readonly #options: ExpiredNumbersOptions;
  readonly #positions: Table<string, DeletedKey>;
  readonly #ticker: Ticker;
  /** What is asked for: at its end the position moves to `to`. */
  #batch: { readonly to: DeletedKey; readonly left: Map<CodeNo, ExpiredCode> } | undefined;

  constructor(options: ExpiredNumbersOptions) {
    this.#options = options;
    this.#positions = options.scans.environment.table('cluster');
    this.#ticker = new Ticker({
      everyMs: tickMs,
      log: options.log,
      failed: 'removing numbers of deleted codes failed, retrying',
      resumed: 'removing numbers of deleted codes resumed',
      run: () => this.tick(),
    });
  }

  start(): void {
    void this.#ticker.runNow();
  }

  close(): Promise<void> {
    return this.#ticker.close();
  }

  /** Of these codes the own shards have removed everything. */
  numbersRemoved(codeNos: readonly CodeNo[]): void {
    if (this.#batch === undefined) return;
    for (const codeNo of codeNos) this.#batch.left.delete(codeNo);
    if (this.#batch.left.size === 0) void this.#ticker.runNow();
  }

  /** Asks for what is due, again for what was not answered. @throws Failure storage_full */
  async tick(): Promise<void> {
    if (this.#batch?.left.size === 0) await this.#passed(this.#batch.to);
    this.#batch ??= this.#due();
    if (this.#batch === undefined) return;
    if (this.#batch.left.size === 0) return await this.#passed(this.#batch.to);
    this.#options.removeNumbers([...this.#batch.left.values()]);
  }

  async #passed(to: DeletedKey): Promise<void> {
    await this.#options.scans.environment.transaction(() => this.#positions.put(positionKey, to));
    this.#batch = undefined;
  }

  #due() {
    const { store, clock } = this.#options;
    const [deletedAtMs, codeNo] = this.#positions.get(positionKey, () => undefined) ?? [0, 0];
    const start: DeletedKey = [deletedAtMs, codeNo + 1];
    const end: DeletedKey = [clock.now() - deletedRetentionMs + 1, 0];
    const keys = [...store.deletedCodes.keys({ start, end, limit: batchMax })];
    const to = keys.at(-1);
    if (to === undefined) return undefined;
    const left = new Map<CodeNo, ExpiredCode>();
    for (const [, no] of keys) {
      // Of a damaged record the leader asks its own shards when it is restored.
      const packed = store.codes.get(no, () => undefined);
      if (packed === undefined) continue;
      left.set(no, { codeNo: no, workspaceNo: packed[packedField.workspaceNo] });
    }
    return { to, left };
  }
}
