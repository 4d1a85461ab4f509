/**
 * What another machine needs in order to go on with the scans of this one. `positions` and `backlogs` name blocks of scans
 * by their numbers, and each machine numbers blocks of its own, cut elsewhere, from the same journals. So a machine that
 * leads a cluster also stores, in the same transactions, where its blocks end in the journals:
 *
 *   scan_numbering   epoch                 -> NumberingRecord: whose numbers these are, and a base
 *   scan_marks       [epoch, block]        -> BlockMark, of each block that was read and is not in the base
 *   scan_places      [epoch, endpointNo]   -> ScanPlaces: what `backlogs` has of the endpoint; 0 = the position of all
 *
 * An epoch is one machine's numbers; another machine that leads begins the next. Those of before stay as they were, until
 * every scan that they tell of is behind the newest. One machine alone has none of these tables.
 */
import type { EndpointNo } from '../../model/numbers.ts';
import type { StoreEnvironment, Table } from '../environment.ts';
import type { Position } from './delivery.ts';

/** Of journals: positions by partition, `positions[partition % length]`. */
export type PackedMarks = ReadonlyArray<readonly [journal: number, positions: readonly number[]]>;

export interface NumberingRecord {
  /** The machine, and which of its stores. */
  readonly core: string;
  /** Every scan below is in a block that is settled for everybody. */
  readonly base: PackedMarks;
}

/**
 * Where a block ends: of these partitions (bits) every scan below the journals' positions is in it or in an earlier one.
 * Blocks that nobody read are named together, by what all of them hold.
 */
export type BlockMark =
  | readonly [low: number, high: number, journals: ReadonlyArray<readonly [number, number]>]
  | { readonly all: PackedMarks };

/** A scan's place. Blocks have their codes in this order, and a journal's scans, but journals in any. */
export type ScanOrder = readonly [codeNo: number, journal: number, position: number];

/** Scans of one code: those of a delivery. */
export type ScanSpan = readonly [
  codeNo: number,
  firstJournal: number,
  firstPosition: number,
  lastJournal: number,
  lastPosition: number,
];

export type ScanPlaces = readonly [
  to: Position,
  /** Where `to` is within a block: the end of the code that has it. */
  last: ScanOrder | 0,
  /** Up to there, and not settled. */
  open: readonly ScanSpan[],
];

export interface ScanNumberingTables {
  readonly numbering: Table<number, NumberingRecord>;
  readonly marks: Table<[epoch: number, block: number], BlockMark>;
  readonly places: Table<[epoch: number, endpointNo: EndpointNo], ScanPlaces>;
}

const numberingTable = 'scan_numbering';

/** Whether any machine of a cluster ever wrote here. */
export const hasNumbering = (environment: StoreEnvironment): boolean =>
  environment.hasTable(numberingTable);

/** Makes them where there are none. A machine that only replays the log opens them, too. */
export const scanNumberingTables = (environment: StoreEnvironment): ScanNumberingTables => ({
  numbering: environment.table(numberingTable, { key: 'uint32' }),
  marks: environment.table('scan_marks'),
  places: environment.table('scan_places'),
});
