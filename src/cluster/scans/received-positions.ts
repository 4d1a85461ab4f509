/**
 * How far a core has read the log of scans, and has that on its disk (ReadPosition). In the table `cluster` of its scans.mdb:
 *
 *   'scans'   [seq, [[journal, tail], …]]
 *
 * At a start a core cuts the journals of other nodes back to their tails here. Journals of a folder that came whole, from
 * another core or from a machine alone, get tails at their ends (`takeAsWhole`): otherwise their scans would be cut off.
 */
import {
  journalEnd,
  journalFolder,
  listJournals,
  listSegments,
  openSegment,
  segmentFile,
} from '../../engine/journal/segments.ts';
import type { StoreEnvironment, Table } from '../../store/environment.ts';
import { openScanStore } from '../../store/scans/scans.ts';
import type { ReadPosition } from './scan-receiver.ts';

type StoredPosition = [seq: number, tails: Array<[journal: number, tail: number]>];

const positionKey = 'scans';

export class ReadPositions {
  readonly #environment: StoreEnvironment;
  readonly #table: Table<string, StoredPosition>;

  constructor(environment: StoreEnvironment) {
    this.#environment = environment;
    this.#table = environment.table('cluster');
  }

  /** If damaged, the core reads the log from its beginning: positions show what it has. */
  read(): ReadPosition {
    const [seq, tails] = this.#table.get(positionKey, () => undefined) ?? [0, []];
    return { seq, tails: new Map(tails) };
  }

  /** Where another node's journal is cut back to (recoverJournal's `atMost`): 0 if it came after the last save; Infinity if the record is damaged. */
  wholeTo(journal: number): number {
    const stored = this.#table.get(positionKey, () => 'damaged' as const);
    if (stored === 'damaged') return Infinity;
    return stored?.[1].find(([known]) => known === journal)?.[1] ?? 0;
  }

  /** Resolves when it survives a loss of power. @throws Failure storage_full */
  async save({ seq, tails }: ReadPosition): Promise<void> {
    await this.#environment.transaction(() => this.#table.put(positionKey, [seq, [...tails]]));
    await this.#environment.flush();
  }
}

/**
 * From here on every journal of the folder is whole up to its end. The position in the log of scans stays. No process may write
 * in the folder meanwhile. Resolves when it survives a loss of power.
 */
export async function takeAsWhole({
  scansFile,
  journalRoot,
}: {
  readonly scansFile: string;
  readonly journalRoot: string;
}): Promise<void> {
  await syncJournals(journalRoot);
  const tails = new Map(
    listJournals(journalRoot).map((journal) => [
      journal,
      journalEnd(journalFolder(journalRoot, journal)),
    ]),
  );
  const { environment } = openScanStore(scansFile);
  try {
    const positions = new ReadPositions(environment);
    await positions.save({ seq: positions.read().seq, tails });
  } finally {
    await environment.close();
  }
}

/** What journals have by now survives a loss of power, also while a service writes: positions of a copy keep their scans. */
export async function syncJournals(journalRoot: string): Promise<void> {
  for (const journal of listJournals(journalRoot)) {
    const folder = journalFolder(journalRoot, journal);
    for (const start of listSegments(folder)) {
      const file = await openSegment(segmentFile(folder, start));
      try {
        await file?.datasync();
      } finally {
        await file?.close();
      }
    }
  }
}
