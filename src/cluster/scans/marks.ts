/**
 * How far the cores have counted each journal, and read the log: what they have told, and what a core tells itself.
 *
 * A journal's bytes may be deleted on their own machine when two cores have counted them, or the only one. What a core has
 * told stays true while it is down: it is on its disk. A core that comes back with another disk tells less, and what it
 * tells no more counts as nothing after a while.
 */
import type { AppliedSeqs, JournalPosition, Mark } from './scan-messages.ts';

/** So many cores have a scan before its own machine lets go of it. */
export const copiesWanted = 2;
/** A core tells this often of all journals; in between of those that have moved. */
export const tellAllMs = 10_000;
/** A core was there for so long, and did not tell of a journal: it has nothing of it. Two of its full rounds. */
const seenAllMs = 2 * tellAllMs + 1_000;
/** Journals in one message: 20 KB. */
const markJournalsMax = 1_000;

interface Core {
  savedSeq: number;
  /** Of its last mark. */
  applied: AppliedSeqs;
  readonly sinceMs: number;
  seenMs: number;
  readonly counted: Map<number, { readonly position: number; readonly seenMs: number }>;
}

export class Marks {
  readonly #told = new Map<string, Core>();
  #cores: ReadonlyMap<string, number> = new Map();

  /**
   * All that are registered, by name, with their runs; others are dropped. So is what a core told before it registered anew:
   * it has another disk, with less on it.
   */
  setCores(cores: ReadonlyMap<string, number>): void {
    for (const name of this.#told.keys()) {
      if (cores.get(name) !== this.#cores.get(name)) this.#told.delete(name);
    }
    this.#cores = cores;
  }

  /** Of a core that is not registered it is dropped. */
  take({ node, savedSeq, counted, applied }: Mark, nowMs: number): void {
    if (!this.#cores.has(node)) return;
    const core = this.#told.get(node) ?? {
      savedSeq,
      applied,
      sinceMs: nowMs,
      seenMs: nowMs,
      counted: new Map(),
    };
    this.#told.set(node, core);
    core.savedSeq = savedSeq;
    core.applied = applied;
    core.seenMs = nowMs;
    for (const [journal, position] of counted) {
      core.counted.set(journal, { position, seenMs: nowMs });
    }
  }

  /**
   * Position up to which enough cores have counted a journal.
   * @returns undefined while too few have told of it
   */
  counted(journal: number): number | undefined {
    const wanted = Math.min(copiesWanted, this.#cores.size);
    const positions = [...this.#told.values()]
      .map((core) => countedBy(core, journal))
      .filter((position) => position !== undefined)
      .sort((a, b) => b - a);
    return wanted === 0 ? undefined : positions[wanted - 1];
  }

  /** By registered core, up to which entry it has read the log; 0 while it has not told. */
  saved(): ReadonlyMap<string, number> {
    return new Map(
      [...this.#cores.keys()].map((name) => [name, this.#told.get(name)?.savedSeq ?? 0]),
    );
  }

  /** By registered core, up to which entry it has applied both logs; nothing before it has reported. */
  applied(): ReadonlyMap<string, AppliedSeqs> {
    return new Map(
      [...this.#cores.keys()].map((name) => [name, this.#told.get(name)?.applied ?? [0, 0]]),
    );
  }
}

function countedBy({ counted, sinceMs, seenMs }: Core, journal: number): number | undefined {
  const told = counted.get(journal);
  if (told !== undefined && seenMs - told.seenMs < seenAllMs) return told.position;
  return seenMs - sinceMs >= seenAllMs ? 0 : undefined;
}

/** What a core tells of its journals: those that have moved, and all each 10 s. */
export class CountedChanges {
  readonly #told = new Map<number, number>();
  #allMs = -Infinity;

  /** @returns by message; one at least, for the rest of the mark */
  next(counted: Iterable<JournalPosition>, nowMs: number): JournalPosition[][] {
    const isAll = nowMs - this.#allMs >= tellAllMs;
    if (isAll) this.#allMs = nowMs;
    const changes = [...counted].filter(
      ([journal, position]) => isAll || this.#told.get(journal) !== position,
    );
    for (const [journal, position] of changes) this.#told.set(journal, position);
    const messages: JournalPosition[][] = [changes.slice(0, markJournalsMax)];
    for (let at = markJournalsMax; at < changes.length; at += markJournalsMax) {
      messages.push(changes.slice(at, at + markJournalsMax));
    }
    return messages;
  }
}
