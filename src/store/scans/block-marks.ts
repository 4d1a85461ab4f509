/**
 * Where blocks end in the journals. Two cores of a cluster cut the same scans into different blocks: by these marks a block
 * number of one core is converted to one of another, whatever the clocks say and however far one of them is behind.
 *
 *   block_marks   [sequence, timeMs] -> BlockMark   scans.mdb of each core: its own
 *   scan_marks    the same                          delivery.mdb: those of the core whose block numbers it has
 */
import { partitionCount } from '../../model/code.ts';
import { dayMs } from '../../model/day.ts';
import type { StoreEnvironment, Table } from '../environment.ts';

/** Blocks up to a sequence have every scan of a journal below `counted`, and none from `reached` on. */
export type BlockMark = ReadonlyArray<readonly [journal: number, counted: number, reached: number]>;
type MarkKey = [sequence: number, timeMs: number];
export type BlockMarks = Table<MarkKey, BlockMark>;

/** Of older marks one for each such time is kept. */
const sparseMs = 900_000;
const keptMs = 30 * dayMs;

export const openBlockMarks = (environment: StoreEnvironment): BlockMarks =>
  environment.table('block_marks');

/** The mark of all current blocks. */
export function currentMark(watermarks: Table<number, number>): BlockMark {
  const rows = [...watermarks.range({}, () => undefined)];
  const journals = Map.groupBy(rows, ({ key }) => Math.floor(key / partitionCount));
  return [...journals].map(([journal, partitions]) => {
    const positions = partitions.map(({ value }) => value);
    const counted = positions.length < partitionCount ? 0 : Math.min(...positions);
    return [journal, counted, Math.max(...positions)];
  });
}

/** Inside a transaction. Removes old marks too. */
export function putMark(marks: BlockMarks, key: MarkKey, mark: BlockMark): void {
  const [, nowMs] = key;
  const known = [...marks.keys({})];
  let keptAt = -1;
  for (const old of known) {
    const [, timeMs] = old;
    if (timeMs > nowMs - sparseMs) continue;
    const at = Math.floor(timeMs / sparseMs);
    if (timeMs <= nowMs - keptMs || at === keptAt) marks.remove(old);
    else keptAt = at;
  }
  marks.put(key, mark);
}

/** The mark of the last marked block up to `sequence`. */
export function markUpTo(
  marks: BlockMarks,
  sequence: number,
): { readonly key: MarkKey; readonly value: BlockMark } | undefined {
  const start: MarkKey = [sequence, Number.MAX_SAFE_INTEGER];
  for (const row of marks.range({ start, reverse: true }, () => undefined)) return row;
  return undefined;
}

/** The last own block up to which another store has all scans in its blocks with this mark; 0 = none is known. */
export function lastBlockWithin(own: BlockMarks, mark: BlockMark): number {
  const counted = new Map(mark.map(([journal, position]) => [journal, position]));
  for (const { key, value } of own.range({ reverse: true }, () => undefined)) {
    if (value.every(([journal, , reached]) => reached <= (counted.get(journal) ?? 0))) {
      return key[0];
    }
  }
  return 0;
}
