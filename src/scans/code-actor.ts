/**
 * The actor of one code: the only place where its numbers change.
 *
 * It lives on the shard that owns its partition, is loaded from its summary on its first scan, takes its
 * scans from committed blocks, and is put to rest when it has been idle and is saved. Between two
 * checkpoints it holds the difference in memory; a crash costs nothing, for the blocks since the last
 * checkpoint are applied again.
 *
 *   absent --load--> clean --take--> dirty --save--> clean --rest--> absent
 */
import type { ScanBlock } from './block.ts';
import type { Day, Summaries } from './summaries.ts';
import type { CodeNo } from '../model/numbers.ts';

export class CodeActor {
  readonly codeNo: CodeNo;
  readonly #summaries: Summaries;
  /** Ascending; the last is the summary's day, earlier ones are late or about to be closed. */
  #days: Day[];
  #total: number;
  #newestBlock: number;
  #isDirty = false;
  /** Window number of the last scan, for finding the idle. */
  lastWindow = 0;

  constructor(codeNo: CodeNo, summaries: Summaries) {
    const summary = summaries.summary(codeNo);
    this.codeNo = codeNo;
    this.#summaries = summaries;
    this.#days = summary === undefined ? [] : [summary.newestDay];
    this.#total = summary?.total ?? 0;
    this.#newestBlock = summary?.newestBlock ?? 0;
  }

  get isDirty(): boolean {
    return this.#isDirty;
  }
  /** Sequence of the block with this code's newest scans; 0 = none yet. */
  get newestBlock(): number {
    return this.#newestBlock;
  }

  /** Counts all scans that a committed block has for this code. */
  take(block: ScanBlock, group: number): void {
    const first = block.first(group);
    const end = first + block.count(group);
    let day: Day | undefined;
    for (let entry = first; entry < end; entry++) {
      const number = block.day(entry);
      if (day === undefined || day.day !== number) day = this.#day(number);
      if (block.countInto(entry, day.rollup, day.sketch)) this.#total++;
    }
    this.#newestBlock = block.sequence;
    this.#isDirty = true;
  }

  /** Writes what changed, inside the checkpoint's transaction; `settle` follows once it has committed. */
  save(): void {
    const newest = this.#days.at(-1);
    if (newest === undefined) return;
    for (const day of this.#days) {
      if (day !== newest) this.#summaries.closeDay(this.codeNo, day);
    }
    this.#summaries.putSummary(this.codeNo, {
      total: this.#total,
      newestBlock: this.#newestBlock,
      newestDay: newest,
    });
  }

  /** After the commit: closed days leave memory, the rest is clean. */
  settle(): void {
    this.#days = this.#days.slice(-1);
    this.#days.at(-1)?.sketch.clean();
    this.#isDirty = false;
  }

  #day(number: number): Day {
    const known = this.#days.find((day) => day.day === number);
    if (known !== undefined) return known;
    const day = this.#summaries.closedDay(this.codeNo, number) ?? this.#summaries.emptyDay(number);
    this.#days.push(day);
    this.#days.sort((a, b) => a.day - b.day);
    return day;
  }
}
