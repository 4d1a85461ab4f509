/**
 * How far the cores have counted each journal and have the logs on their disks, as they report it.
 *
 * A node may delete the bytes of its journal when two cores have counted them, or the only core. What a core has reported
 * stays true while it is down. A core that comes back with another disk reports less: a journal that it no longer reports
 * counts as position 0 after two of its full rounds.
 */
import type { AppliedSeqs, JournalPosition, Mark } from './scan-messages.ts';

/** So many cores have a scan before its own machine deletes it. */
export const copiesWanted = 2;
/** A core reports all journals this often, and between that those that have moved. */
export const reportAllMs = 10_000;
const fullRoundsMs = 2 * reportAllMs + 1_000;
/** Journals in one message: 20 KB. */
const markJournalsMax = 1_000;

interface Core {
  readonly sinceMs: number;
  readonly seenMs: number;
  readonly mark: Mark;
  readonly counted: Map<number, { readonly position: number; readonly seenMs: number }>;
}

export class Marks {
  readonly #reported = new Map<string, Core>();
  #cores: ReadonlyMap<string, number> = new Map();

  /**
   * All that are registered, by name, with their runs; drops the reports of others. A core that has registered again has
   * another disk, with less on it.
   */
  setCores(cores: ReadonlyMap<string, number>): void {
    for (const name of this.#reported.keys()) {
      if (cores.get(name) !== this.#cores.get(name)) this.#reported.delete(name);
    }
    this.#cores = cores;
  }

  /** Ignores a core that is not registered. */
  take(mark: Mark, nowMs: number): void {
    if (!this.#cores.has(mark.node)) return;
    const { sinceMs = nowMs, counted = new Map() } = this.#reported.get(mark.node) ?? {};
    this.#reported.set(mark.node, { sinceMs, seenMs: nowMs, mark, counted });
    for (const [journal, position] of mark.counted) {
      counted.set(journal, { position, seenMs: nowMs });
    }
  }

  /** @returns the position up to which enough cores have counted a journal; undefined while too few have reported it */
  counted(journal: number): number | undefined {
    const wanted = Math.min(copiesWanted, this.#cores.size);
    const positions = [...this.#reported.values()]
      .map((core) => countedBy(core, journal))
      .filter((position) => position !== undefined)
      .sort((a, b) => b - a);
    return wanted === 0 ? undefined : positions[wanted - 1];
  }

  /** By registered core, the newest entry of the log of scans that it has; 0 before its first report. */
  saved(): ReadonlyMap<string, number> {
    return this.#byCore((mark) => mark?.savedSeq ?? 0);
  }

  /** By registered core, the newest entry of both logs that it has; 0 before its first report. */
  applied(): ReadonlyMap<string, AppliedSeqs> {
    return this.#byCore((mark) => mark?.applied ?? [0, 0]);
  }

  #byCore<T>(of: (mark: Mark | undefined) => T): ReadonlyMap<string, T> {
    const names = [...this.#cores.keys()];
    return new Map(names.map((name) => [name, of(this.#reported.get(name)?.mark)]));
  }
}

function countedBy({ counted, sinceMs, seenMs }: Core, journal: number): number | undefined {
  const reported = counted.get(journal);
  if (reported !== undefined && seenMs - reported.seenMs < fullRoundsMs) return reported.position;
  return seenMs - sinceMs >= fullRoundsMs ? 0 : undefined;
}

/** What a core reports of its journals: those that have moved, and all each 10 s. */
export class CountedChanges {
  readonly #reported = new Map<number, number>();
  #allMs = -Infinity;

  /** @returns by message; one at least, for the rest of the mark */
  next(counted: Iterable<JournalPosition>, nowMs: number): JournalPosition[][] {
    const isAll = nowMs - this.#allMs >= reportAllMs;
    if (isAll) this.#allMs = nowMs;
    const changes = [...counted].filter(
      ([journal, position]) => isAll || this.#reported.get(journal) !== position,
    );
    for (const [journal, position] of changes) this.#reported.set(journal, position);
    const messages: JournalPosition[][] = [changes.slice(0, markJournalsMax)];
    for (let at = markJournalsMax; at < changes.length; at += markJournalsMax) {
      messages.push(changes.slice(at, at + markJournalsMax));
    }
    return messages;
  }
}
