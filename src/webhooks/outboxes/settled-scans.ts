/**
 * Which scans are settled already, as a machine that led before has stored it in numbers of its own blocks
 * (store/delivery/scan-numbering.ts). A scan is, for an endpoint, when in any former epoch
 *
 *   it is in a block up to the endpoint's position there, or in the part of the next block that was sent,
 *   and in no delivery that was in flight
 *
 * All of it is told by journal, partition and position, so it holds for whichever block has the scan here, also for scans
 * that arrive here later than there.
 */
import { partitionOf } from '../../model/code.ts';
import type { EndpointNo } from '../../model/numbers.ts';
import type {
  BlockMark,
  NumberingRecord,
  ScanNumberingTables,
  ScanOrder,
  ScanPlaces,
} from '../../store/delivery/scan-numbering.ts';
import { ScanMarks } from '../../store/scans/scan-marks.ts';
import { isInPart, isInSpan, isUpToMark } from './scan-places.ts';

export type IsSettled = (scan: ScanOrder) => boolean;

/** Of everybody who has no places of his own. */
export const everybody = 0;

/** All that are stored, oldest first; of a damaged one it is not known what is below. */
export function epochsIn({ numbering }: ScanNumberingTables): ReadonlyArray<{
  readonly epoch: number;
  readonly record: NumberingRecord;
}> {
  const damaged = { core: '', base: [] };
  return [...numbering.keys({})].map((epoch) => {
    return { epoch, record: numbering.get(epoch, () => damaged) ?? damaged };
  });
}

/** One machine's numbers, as they were when another began to lead. */
export class FormerEpoch {
  readonly epoch: number;
  readonly #base: ScanMarks;
  readonly #marks: ReadonlyArray<readonly [block: number, mark: BlockMark]>;
  readonly #places = new Map<EndpointNo, ScanPlaces>();
  readonly #marksAt = new Map<number, ScanMarks>();

  constructor(tables: ScanNumberingTables, epoch: number, { base }: NumberingRecord) {
    this.epoch = epoch;
    this.#base = new ScanMarks(base);
    this.#marks = [...marksOf(tables, epoch)];
    for (const { key, value } of tables.places.range(keysOf(epoch), () => undefined)) {
      this.#places.set(key[1], value);
    }
    this.#fillMarks();
  }

  /** Every block that anybody has read there. */
  get newest(): ScanMarks {
    return this.#at(Number.MAX_SAFE_INTEGER);
  }

  /** What it had read: settled, or in the backlog of an endpoint. Undefined where that is not known. */
  get routed(): ScanMarks | undefined {
    const places = this.#places.get(everybody);
    return places && this.#at(places[0][0]);
  }

  /** Undefined where nothing is known to be. */
  isSettledFor(endpointNo: EndpointNo): IsSettled | undefined {
    const places = this.#places.get(endpointNo) ?? this.#places.get(everybody);
    if (places === undefined) return undefined;
    const [[block], last, open] = places;
    const marks = this.#at(block);
    const next = this.#marks.find(([number]) => number === block + 1)?.[1];
    return (scan) => {
      const [codeNo, journal, position] = scan;
      const partition = partitionOf(codeNo);
      const isSent =
        marks.isBelow(journal, partition, position) ||
        (last !== 0 &&
          next !== undefined &&
          isUpToMark(next, partition, scan) &&
          isInPart(last, scan));
      return isSent && !open.some((span) => isInSpan(span, scan));
    };
  }

  /** All that are asked for, in one walk. */
  #fillMarks(): void {
    const numbers = new Set([...this.#places.values()].map(([[block]]) => block));
    const wanted = [...numbers, Number.MAX_SAFE_INTEGER].toSorted((a, b) => a - b);
    const marks = this.#base.copy();
    let at = 0;
    for (const number of wanted) {
      for (let known = this.#marks[at]; known !== undefined && known[0] <= number;) {
        marks.raise(known[1]);
        known = this.#marks[++at];
      }
      this.#marksAt.set(number, marks.copy());
    }
  }

  #at(block: number): ScanMarks {
    return this.#marksAt.get(block) ?? this.#base;
  }
}

/** Of an epoch, by number; a damaged one is left out, so its scans may be sent again. */
export function* marksOf(
  { marks }: ScanNumberingTables,
  epoch: number,
): Generator<readonly [block: number, mark: BlockMark]> {
  for (const { key, value } of marks.range(keysOf(epoch), () => undefined)) yield [key[1], value];
}

/** Of all marks, or places, of an epoch. */
export const keysOf = (epoch: number): { start: [number, number]; end: [number, number] } => ({
  start: [epoch, 0],
  end: [epoch + 1, 0],
});
