/**
 * The actor of one code, on the shard that owns its partition: the only place where its numbers change. It loads the summary
 * on the first scan, takes scans from committed blocks, and leaves memory when it is idle and saved.
 *
 *   absent --load--> clean --take--> dirty --save--> clean --rest--> absent
 *      any of them --damaged record--> freezing --save--> frozen --rest--> absent
 *
 * A frozen actor takes and saves nothing (`Summaries.freeze`).
 */
import { isDamage } from '../../model/failure.ts';
import type { ScanBlock } from './block.ts';
import { type Day, type Piece, pieceAt } from './days/day.ts';
import type { Summaries } from './summaries.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';
import { type CounterKind, counterKindOf } from '../../store/scans/scans.ts';

type State = 'clean' | 'dirty' | 'freezing' | 'frozen';

/** Thrown by `save` when it found damage: undo the transaction and save everything again. */
export class DamagedCounterError extends Error {
  override readonly name = 'DamagedCounterError';
}

export class CodeActor {
  readonly codeNo: CodeNo;
  readonly #summaries: Summaries;
  readonly #counted: CounterKind;
  /** Ascending; the last is the summary's day, earlier ones had late scans or are about to close. */
  #days: Day[] = [];
  #total = 0;
  #newestBlock = 0;
  #state: State = 'clean';
  /** Window of the last scan; the lowest is freed first. */
  lastWindow = 0;

  constructor(codeNo: CodeNo, summaries: Summaries) {
    this.codeNo = codeNo;
    this.#summaries = summaries;
    this.#counted = counterKindOf(codeNo);
    if (summaries.isFrozen(codeNo)) this.#state = 'frozen';
    else this.#orFreeze(() => this.#load());
  }

  get isDirty(): boolean {
    return this.#state === 'dirty' || this.#state === 'freezing';
  }
  get isFrozen(): boolean {
    return this.#state === 'freezing' || this.#state === 'frozen';
  }
  /** 0 = none yet. */
  get newestBlock(): number {
    return this.#newestBlock;
  }

  /** A block with scans of this code was committed; `take` it before the next save. */
  follow(sequence: number): void {
    this.#newestBlock = sequence;
  }

  take(block: ScanBlock, group: number): void {
    this.#newestBlock = Math.max(this.#newestBlock, block.sequence);
    if (this.isFrozen) return;
    this.#state = 'dirty';
    this.#orFreeze(() => this.#count(block, group));
  }

  #load(): void {
    const summary = this.#summaries.summary(this.codeNo);
    if (summary === undefined) return;
    this.#days = [summary.newestDay];
    this.#total = summary.total;
    this.#newestBlock = summary.newestBlock;
  }

  #count(block: ScanBlock, group: number): void {
    const first = block.first(group);
    const end = first + block.count(group);
    const workspaceNo = block.workspaceNo(group);
    let piece: Piece | undefined;
    for (let entry = first; entry < end; entry++) {
      const timeMs = block.timeMs(entry);
      if (piece === undefined || timeMs >= piece.endMs || timeMs < piece.fromMs) {
        piece = pieceAt(this.#day(block.day(entry), workspaceNo), timeMs);
      }
      if (block.countInto(entry, piece.rollup, piece.sketch, this.#counted)) this.#total++;
    }
  }

  /** The piece that counts a scan taken since the last save; undefined when the actor is frozen. */
  pieceOf(block: ScanBlock, entry: number): Piece | undefined {
    const day = block.day(entry);
    const found = this.#days.find((one) => one.day === day);
    return found && pieceAt(found, block.timeMs(entry));
  }

  #orFreeze(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#days = [];
      this.#state = 'freezing';
    }
  }

  /** Writes changes inside the checkpoint's transaction; call `settle` once it has committed. @throws DamagedCounterError */
  save(): void {
    if (this.isFrozen) {
      this.#summaries.freeze(this.codeNo);
      return;
    }
    this.#orFreeze(() => this.#write());
    if (this.isFrozen) throw new DamagedCounterError();
  }

  #write(): void {
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

  /** After the commit: frees closed days. */
  settle(): void {
    this.#days = this.#days.slice(-1);
    for (const { sketch } of this.#days.at(-1)?.pieces ?? []) sketch.clean();
    this.#state = this.isFrozen ? 'frozen' : 'clean';
  }

  #day(number: number, workspaceNo: WorkspaceNo): Day {
    const known = this.#days.find((day) => day.day === number);
    if (known !== undefined) return known;
    const day =
      this.#summaries.closedDay(this.codeNo, number) ??
      this.#summaries.emptyDay(number, workspaceNo);
    this.#days.push(day);
    this.#days.sort((a, b) => a.day - b.day);
    return day;
  }
}
