/**
 * Marks of where blocks end in the journals. Two cores of a cluster cut the same scans into different blocks: the marks map
 * a position in the blocks of one core to the other's.
 *
 *   block_marks        [sequence, timeMs] -> PackedMarks            scans.mdb of each core: its own
 *   cluster_identity   "scans/<store>/<sequence>/<timeMs>" -> JSON  management.mdb: those of the cores that led
 *
 * Every core has the second table open, so a core that does not know these marks replays them too.
 */
import type { StoreEnvironment, Table } from '../environment.ts';
import type { PackedMarks } from './scan-marks.ts';

export interface MarkPlace {
  readonly sequence: number;
  readonly timeMs: number;
}

/** Rows of one store, by sequence. */
export interface MarkRows {
  places(): MarkPlace[];
  /** Undefined if the row is damaged or missing. */
  marksOf(place: MarkPlace): PackedMarks | undefined;
  /** Inside a transaction. */
  put(place: MarkPlace, marks: PackedMarks): void;
  /** Inside a transaction. */
  remove(place: MarkPlace): void;
}

export function ownMarkRows(environment: StoreEnvironment): MarkRows {
  const table = environment.table<[number, number], PackedMarks>('block_marks');
  return {
    places: () => [...table.keys({})].map(([sequence, timeMs]) => ({ sequence, timeMs })),
    marksOf: ({ sequence, timeMs }) => table.get([sequence, timeMs], () => undefined),
    put: ({ sequence, timeMs }, marks) => table.put([sequence, timeMs], marks),
    remove: ({ sequence, timeMs }) => table.remove([sequence, timeMs]),
  };
}

const prefix = 'scans/';
/** Behind every key of a prefix: keys are ASCII. */
const lastCharacter = '\x7f';
const sequenceDigits = 16;

/** @param store the machine, and which of its stores */
export function sharedMarkRows(identity: Table<string, string>, store: string): MarkRows {
  const start = `${prefix}${store}/`;
  const keyOf = ({ sequence, timeMs }: MarkPlace): string =>
    `${start}${String(sequence).padStart(sequenceDigits, '0')}/${timeMs}`;
  return {
    places: () =>
      [...identity.keys({ start, end: start + lastCharacter })].map((key) => {
        const [sequence, timeMs] = key.slice(start.length).split('/');
        return { sequence: Number(sequence), timeMs: Number(timeMs) };
      }),
    marksOf: (place) => {
      const text = identity.get(keyOf(place), () => undefined);
      return text === undefined ? undefined : parseMarks(text);
    },
    put: (place, marks) => identity.put(keyOf(place), JSON.stringify(marks)),
    remove: (place) => identity.remove(keyOf(place)),
  };
}

/** Stores that have such rows. */
export function sharedStores(identity: Table<string, string>): string[] {
  const range = { start: prefix, end: prefix + lastCharacter };
  return [...new Set([...identity.keys(range)].map((key) => key.split('/')[1] ?? ''))];
}

/** What `put` wrote. */
function parseMarks(text: string): PackedMarks {
  const marks: PackedMarks = JSON.parse(text);
  return marks;
}
