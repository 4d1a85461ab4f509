/**
 * What is journaled and not yet counted, measured on the side that publishes: the tails that writers store in shared
 * memory, less the positions that shards store beside them. A shard that is dead, silent or stuck stores nothing, so
 * its lag grows, whatever state it is in.
 *
 * Ages come from a few (time, tail) samples a journal, one a second while it is written: a position is as old as
 * the first sample above it, at most a second less than it is.
 */
import type { JournalPositions } from '../../scans/journal/positions.ts';

/** Beyond it every second sample goes: the oldest one stays, and ages between them get coarser. */
const samplesMax = 128;

interface Sample {
  readonly atMs: number;
  readonly tail: number;
}

export interface Lag {
  readonly bytes: number;
  /** Age of the oldest byte that is not counted, 0 without one. */
  readonly ms: number;
}

export class JournalLag {
  readonly #tails: JournalPositions;
  readonly #consumed: readonly JournalPositions[];
  readonly #samples = new Map<number, Sample[]>();

  /** @param consumed of each shard */
  constructor(tails: JournalPositions, consumed: readonly JournalPositions[]) {
    this.#tails = tails;
    this.#consumed = consumed;
  }

  /** Called every second. @param nowMs of a clock that never steps back */
  sample(nowMs: number): void {
    for (const journal of this.#tails.journals) {
      const counted = Math.min(...this.#consumed.map((shard) => shard.position(journal)));
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

  /** Bytes that at least one shard has not counted, of all journals. */
  get uncountedBytes(): number {
    let bytes = 0;
    for (const journal of this.#tails.journals) {
      const counted = Math.min(...this.#consumed.map((shard) => shard.position(journal)));
      bytes += Math.max(0, this.#tails.position(journal) - counted);
    }
    return bytes;
  }
}

const thinned = (samples: readonly Sample[]): Sample[] =>
  samples.filter((_, at) => at % 2 === 0 || at === samples.length - 1);
