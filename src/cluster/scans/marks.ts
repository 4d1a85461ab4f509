/**
 * How far the cores have counted each journal and have the logs on their disks, as they report it.
 *
 * A node may delete the bytes of its journal when two cores have counted them, or the only core. What a core has reported
 * stays true while it is down. A core that comes back with another disk reports less: a journal that it does not report
 * counts as position 0.
 */
import type { AppliedSeqs, Mark } from '../nodes/beat-message.ts';

/** So many cores have a scan before its own machine deletes it. */
export const copiesWanted = 2;

interface Reported extends Mark {
  readonly positions: ReadonlyMap<number, number>;
}

export class Marks {
  readonly #reported = new Map<string, Reported>();
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
  take(core: string, mark: Mark): void {
    if (this.#cores.has(core))
      this.#reported.set(core, { ...mark, positions: new Map(mark.counted) });
  }

  /** @returns the position up to which enough cores have counted a journal; undefined while too few have reported */
  counted(journal: number): number | undefined {
    const wanted = Math.min(copiesWanted, this.#cores.size);
    const positions = [...this.#reported.values()]
      .map(({ positions }) => positions.get(journal) ?? 0)
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
    return new Map(names.map((name) => [name, of(this.#reported.get(name))]));
  }
}
