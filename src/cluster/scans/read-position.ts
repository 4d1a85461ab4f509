/**
 * How far a core has read the log of scans, in the environment of its own counts. Table:
 *
 *   cluster   'scans'   [seq, [[journal, tail], …]] (ReadPosition)
 */
import type { StoreEnvironment, Table } from '../../store/environment.ts';
import type { ReadPosition } from './scan-receiver.ts';

type StoredPosition = [seq: number, tails: Array<[journal: number, tail: number]>];

const key = 'scans';

export class ReadPositions {
  readonly #environment: StoreEnvironment;
  readonly #table: Table<string, StoredPosition>;

  constructor(environment: StoreEnvironment) {
    this.#environment = environment;
    this.#table = environment.table('cluster');
  }

  /** Damaged, the log is read from its beginning: positions tell what is known. */
  read(): ReadPosition {
    const [seq, tails] = this.#table.get(key, () => undefined) ?? [0, []];
    return { seq, tails: new Map(tails) };
  }

  /**
   * Of another node's journal, at a start: where it is cut back to (recoverJournal's `atMost`). 0 for one that came
   * after the last save; damaged, none is cut.
   */
  wholeTo(journal: number): number {
    const stored = this.#table.get(key, () => 'damaged' as const);
    if (stored === 'damaged') return Infinity;
    return stored?.[1].find(([known]) => known === journal)?.[1] ?? 0;
  }

  /** Resolves when it survives a loss of power. @throws Failure storage_full */
  async save({ seq, tails }: ReadPosition): Promise<void> {
    await this.#environment.transaction(() => this.#table.put(key, [seq, [...tails]]));
    await this.#environment.flush();
  }
}
