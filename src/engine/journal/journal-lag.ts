/**
 * The journaled bytes that are not counted yet: the tails that writers store in shared memory, minus the positions that
 * shards store there. A shard that is dead or stuck stores nothing, so its lag grows in any case.
 *
 * Ages come from (time, tail) samples, one a second for each journal that is written. A position gets the age of the first
 * sample above it, which is at most a second too low.
 */
import type { JournalPositions } from './positions.ts';

/** Beyond it, every second sample is dropped, never the oldest: ages between get coarser. */
const samplesMax = 128;

interface Sample {
  readonly atMs: number;
  readonly tail: number;
}

export interface Lag {
  readonly bytes: number;
  /** Age of the oldest byte that is not counted; 0 = all are. */
  readonly ms: number;
}

export class JournalLag {
  readonly #tails: JournalPositions;
  readonly #consumed: readonly JournalPositions[];
  readonly #samples = new Map<number, Sample[]>();

  constructor(tails: JournalPositions, consumed: readonly JournalPositions[]) {
    this.#tails = tails;
    this.#consumed = consumed;
  }

  /** Call it every second. @param nowMs of a monotonic clock */
  sample(nowMs: number): void {
    for (const journal of this.#tails.journals) {
      const counted = this.#counted(journal);
      const known = this.#samples.get(journal) ?? [];
      const samples = known.filter(({ tail }) => tail > counted);
      const tail = this.#tails.position(journal);
      if (tail > Math.max(counted, samples.at(-1)?.tail ?? 0)) samples.push({ atMs: nowMs, tail });
      this.#samples.set(journal, samples.length > samplesMax ? thinned(samples) : samples);
    }
  }

  of(shard: number, nowMs: number): Lag {
    const consumed = this.#consumed[shard];
    let bytes = 0;
    let sinceMs = nowMs;
    for (const journal of this.#tails.journals) {
      const position = consumed?.position(journal) ?? 0;
      bytes += Math.max(0, this.#tails.position(journal) - position);
      const oldest = this.#samples.get(journal)?.find(({ tail }) => tail > position);
      sinceMs = Math.min(sinceMs, oldest?.atMs ?? nowMs);
    }
    return { bytes, ms: nowMs - sinceMs };
  }

  /** Bytes in all journals that at least one shard has not counted. */
  get uncountedBytes(): number {
    let bytes = 0;
    for (const journal of this.#tails.journals) {
      bytes += Math.max(0, this.#tails.position(journal) - this.#counted(journal));
    }
    return bytes;
  }

  /** By every shard. */
  #counted(journal: number): number {
    return Math.min(...this.#consumed.map((shard) => shard.position(journal)));
  }
}

const thinned = (samples: readonly Sample[]): Sample[] =>
  samples.filter((_, at) => at % 2 === 0 || at === samples.length - 1);
