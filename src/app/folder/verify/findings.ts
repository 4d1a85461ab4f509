/** Faults in data, each with its file, a clause and a remedy. Bounded for any disk. */

/** Yields the thread to a service in this process and to signals. @param bytes read since the last call */
export type Pause = (bytes?: number) => Promise<void>;

export interface Finding {
  readonly file: string;
  /** A clause: `page 17 (table days) is damaged`. */
  readonly text: string;
  readonly remedy: string;
}

export const findingText = ({ file, text }: Finding): string => `${file}: ${text}`;

/** Bound of each kind: a worse disk needs a restore, not a longer list. */
const namedMax = 20;

export const restoreRemedy = 'restore a backup (`quietzone restore`)';

export class Findings {
  readonly #named: Finding[] = [];
  readonly #counts = new Map<
    string,
    { count: number; remedy: string; file: string; kind: string }
  >();

  /** @param kind findings of one kind and file share a bound */
  add(file: string, kind: string, text: string, remedy: string): void {
    const key = `${file} ${kind}`;
    const { count } = this.#counts.get(key) ?? { count: 0 };
    this.#counts.set(key, { count: count + 1, remedy, file, kind });
    if (count < namedMax) this.#named.push({ file, text, remedy });
  }

  /** In the order of `add`, then counts of the rest. */
  get all(): readonly Finding[] {
    const rest = [...this.#counts.values()]
      .filter(({ count }) => count > namedMax)
      .map(({ count, remedy, file, kind }) => {
        return { file, text: `${count - namedMax} more ${kind}`, remedy };
      });
    return [...this.#named, ...rest];
  }
}
