/**
 * An LMDB environment as a replicated store, with the table:
 *
 *   cluster   'position'   [seq, epoch, n, chain, before] (LogPosition) of the newest entry that is applied
 */
import type { StoreEnvironment, Table } from '../../store/environment.ts';
import type { StoredWrite } from '../../store/replication.ts';
import { emptyPosition, type LogPosition } from './applier.ts';
import type { ReplicatedStore } from './apply-queue.ts';

type StoredPosition = [
  seq: number,
  epoch: number,
  n: number,
  chain: Uint8Array,
  before: Uint8Array,
];

const positionKey = 'position';

export class EnvironmentStore implements ReplicatedStore {
  readonly #environment: StoreEnvironment;
  readonly #table: Table<string, StoredPosition>;

  constructor(environment: StoreEnvironment) {
    this.#environment = environment;
    this.#table = environment.table('cluster');
  }

  /** @throws Failure data_damaged */
  position(): LogPosition {
    const stored = this.#table.get(positionKey);
    if (stored === undefined) return emptyPosition;
    const [seq, epoch, n, chain, before] = stored;
    return { seq, epoch, n, chain, before };
  }

  async apply(
    writes: readonly StoredWrite[],
    position: LogPosition,
    after: LogPosition,
  ): Promise<void> {
    await this.#environment.applyWrites(writes, () => {
      if (Buffer.compare(this.position().chain, after.chain) !== 0) {
        throw new Error(`entry ${after.seq} is not applied, expected it before ${position.seq}`);
      }
      const { seq, epoch, n, chain, before } = position;
      this.#table.put(positionKey, [seq, epoch, n, chain, before]);
    });
  }
}
