/** What is found wrong with data: each with its place, in words, and with what helps. Bounded, however bad a disk is. */

export interface Finding {
  /** The file, below the data folder. */
  readonly file: string;
  /** What is found, as a clause: `page 17 (table days) is all zeros`. */
  readonly text: string;
  readonly remedy: string;
}

/** Named of each kind: a disk that is worse needs a restore, not a longer list. */
const namedMax = 20;

export const restoreRemedy = 'restore a backup (`quietzone restore`)';

export class Findings {
  readonly #kept: Finding[] = [];
  /** By file and kind. */
  readonly #counts = new Map<
    string,
    { count: number; remedy: string; file: string; kind: string }
  >();

  /** @param kind findings of one kind and file share a bound */
  add(file: string, kind: string, text: string, remedy: string): void {
    const key = `${file} ${kind}`;
    const { count } = this.#counts.get(key) ?? { count: 0 };
    this.#counts.set(key, { count: count + 1, remedy, file, kind });
    if (count < namedMax) this.#kept.push({ file, text, remedy });
  }

  /** In the order in which they were found; how many are not named comes last. */
  get all(): readonly Finding[] {
    const rest = [...this.#counts.values()]
      .filter(({ count }) => count > namedMax)
      .map(({ count, remedy, file, kind }) => {
        return { file, text: `${count - namedMax} more ${kind}`, remedy };
      });
    return [...this.#kept, ...rest];
  }
}
