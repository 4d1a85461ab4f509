/**
 * Removes from a log what every registered core has, on the core that leads.
 *
 *   first ────────────── all cores have it ──────────────┬─────────────── last
 *     └── removed, each round                            └── of the core that has least: it is kept for it, for 7 days
 *
 * A core of which nothing is known holds everything, as long as it is there; one that is away, and has told this process
 * nothing, is taken to have nothing. After 7 days it is left behind: it lacks what is removed, and has to join anew.
 *
 * A core that registers while this runs misses nothing. It registers first, and only then copies the data of a core that is
 * connected. Whatever was removed by then, that core had: it is registered, too, and counted in the least that all have. What
 * is removed later waits for the new core, which has told nothing yet.
 */
import { messageOf } from '../../model/failure.ts';
import type { Clock, Timers } from '../../model/clock.ts';
import { dayMs } from '../../model/day.ts';
import type { OrderedLog } from './ordered-log.ts';

const heldDays = 7;

export interface TimedLog extends Pick<OrderedLog, 'bounds' | 'prune'> {
  /** When an entry was appended, wall clock; undefined where it is not there. */
  timeOf(seq: number): Promise<number | undefined>;
}

/** By registered core, up to which entry it has the log on its disk; undefined: not known, and it holds everything. */
export type StoredSeqs = ReadonlyMap<string, number | undefined>;

export interface LogPruningOptions {
  readonly log: TimedLog;
  readonly clock: Pick<Clock, 'now'>;
  readonly timers: Timers;
  readonly everyMs: number;
  readonly isLeader: () => boolean;
  readonly stored: () => StoredSeqs;
  /**
   * Of a log that is replayed: this core, whose data nothing may be removed behind, however old it is. The newest entry that
   * all have stays as well: where a core goes on reading, it sees that the log is the one it knows.
   */
  readonly replayedBy?: string | undefined;
  /** Called with the end of the log before it is pruned. */
  readonly onRound?: ((last: number) => void) | undefined;
  /** These cores lose the entries up to `to`, which are too old. Called once while they are left behind. */
  readonly onLeftBehind: (cores: readonly string[], to: number) => void;
}

export class LogPruning {
  readonly #options: LogPruningOptions;
  #cancel: () => void = () => undefined;
  #isStopped = false;
  #leftBehind: ReadonlySet<string> = new Set();
  #entries: number | undefined;
  /** Why the last round failed, while it does. */
  fault: string | undefined;

  constructor(options: LogPruningOptions) {
    this.#options = options;
  }

  start(): void {
    const { timers, everyMs } = this.#options;
    this.#cancel = timers.after(everyMs, () => void this.#round());
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  /** Entries on the brokers after the last round; undefined where another core leads, or before the first. */
  get entries(): number | undefined {
    return this.#entries;
  }

  /** Cores that lack what was removed, as the core that leads knows. */
  get leftBehind(): readonly string[] {
    return [...this.#leftBehind];
  }

  async #round(): Promise<void> {
    try {
      if (this.#options.isLeader()) await this.#prune();
      else this.#standBy();
      this.fault = undefined;
    } catch (error) {
      this.fault = messageOf(error);
    }
    if (!this.#isStopped) this.start();
  }

  /** Another core leads, and tells of it. */
  #standBy(): void {
    this.#leftBehind = new Set();
    this.#entries = undefined;
  }

  async #prune(): Promise<void> {
    const { log, stored, isLeader, onRound } = this.#options;
    const { first, last } = await log.bounds();
    this.#entries = last - first + 1;
    onRound?.(last);
    const below = await this.#newFirst(stored(), first, last);
    // It may have stood still meanwhile, and the log may be another one.
    if (below <= first || !isLeader()) return;
    await log.prune(below);
    this.#entries = last - below + 1;
  }

  /** @returns the entry that is to be the first */
  async #newFirst(stored: StoredSeqs, first: number, last: number): Promise<number> {
    const { replayedBy } = this.#options;
    const seqs = [...stored.values()].filter((seq) => seq !== undefined);
    // One that has more than the log: brokers have lost its end, and its numbers are given out again.
    if (seqs.length === 0 || Math.max(...seqs) > last) return first;
    if (seqs.length < stored.size) return first;
    const all = Math.min(...seqs) + (replayedBy === undefined ? 1 : 0);
    const wanted = Math.max(first, all);
    const own = replayedBy === undefined ? Infinity : (stored.get(replayedBy) ?? 0);
    const below = Math.min(await this.#firstRecent(wanted, last), Math.max(wanted, own));
    this.#noteLeftBehind(stored, wanted, below);
    return below;
  }

  /** Not a core that has joined recently, and lacks what was removed before: it copies that. */
  #noteLeftBehind(stored: StoredSeqs, wanted: number, below: number): void {
    const lacking = [...stored].flatMap(([name, seq = Infinity]) =>
      seq < below - 1 ? [name] : [],
    );
    const recent = below > wanted ? lacking.filter((name) => !this.#leftBehind.has(name)) : [];
    const still = lacking.filter((name) => this.#leftBehind.has(name));
    this.#leftBehind = new Set([...still, ...recent]);
    if (recent.length > 0) this.#options.onLeftBehind(recent, below - 1);
  }

  /** @returns the first entry from `from` on that is not too old; `last + 1` where all are */
  async #firstRecent(from: number, last: number): Promise<number> {
    const { log, clock } = this.#options;
    const keptMs = clock.now() - heldDays * dayMs;
    const isOld = async (seq: number): Promise<boolean> =>
      ((await log.timeOf(seq)) ?? Infinity) < keptMs;
    if (from > last || !(await isOld(from))) return from;
    let old = from;
    let kept = last + 1;
    while (kept - old > 1) {
      const middle = Math.floor((old + kept) / 2);
      if (await isOld(middle)) old = middle;
      else kept = middle;
    }
    return kept;
  }
}
