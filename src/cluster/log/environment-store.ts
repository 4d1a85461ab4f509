/**
 * An LMDB environment as a replicated store, with the table:
 *
 *   cluster   'position'   [seq, epoch, n, chain, before, leader?] (LogPosition) of the newest entry that is applied; leader:
 *                          [owner, url, version]
 *             'moved'      when the position was moved on without any other write, milliseconds; by the log
 */
import type { StoreEnvironment, Table } from '../../store/environment.ts';
import type { StoredWrite } from '../../store/replicated-transactions.ts';
import { emptyPosition, type LogPosition } from './applier.ts';
import type { ReplicatedStore } from './apply-queue.ts';
import type { Leader } from './entry.ts';

type StoredPosition = [
  seq: number,
  epoch: number,
  n: number,
  chain: Uint8Array,
  before: Uint8Array,
  leader?: StoredLeader,
];
type StoredLeader = [owner: string, url: string, version: string];

const positionKey = 'position';
const movedKey = 'moved';

export class EnvironmentStore implements ReplicatedStore {
  readonly #environment: StoreEnvironment;
  readonly #table: Table<string, StoredPosition | number>;

  constructor(environment: StoreEnvironment) {
    this.#environment = environment;
    this.#table = environment.table('cluster');
  }

  /** @throws Failure data_damaged */
  position(): LogPosition {
    const stored = this.#table.get(positionKey);
    if (stored === undefined || typeof stored === 'number') return emptyPosition;
    const [seq, epoch, n, chain, before, leader] = stored;
    return { seq, epoch, n, chain, before, leader: leader && leaderOf(leader) };
  }

  /** One write, where nothing else writes: positions move on. @throws Failure not_active */
  async moveOn(nowMs: number): Promise<void> {
    await this.#environment.transaction(() => this.#table.put(movedKey, nowMs));
  }

  /** From here on the present data is at this position. Only while no log is followed. Survives a loss of power. */
  async place(position: LogPosition): Promise<void> {
    await this.#environment.transaction(() =>
      this.#table.put(positionKey, storedPosition(position)),
    );
    await this.#environment.flush();
  }

  async apply(writes: readonly StoredWrite[], position: LogPosition): Promise<void> {
    await this.#environment.applyWrites(writes, () => {
      this.#table.put(positionKey, storedPosition(position));
    });
  }
}

const leaderOf = ([owner, url, version]: StoredLeader): Leader => ({ owner, url, version });

function storedPosition({ leader, ...position }: LogPosition): StoredPosition {
  const { seq, epoch, n, chain, before } = position;
  if (leader === undefined) return [seq, epoch, n, chain, before];
  return [seq, epoch, n, chain, before, [leader.owner, leader.url, leader.version]];
}
