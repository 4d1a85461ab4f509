/**
 * The demo's chance: the same seed gives the same codes, visitors and scans. No secret is made of it: keys, passwords and
 * ids come from the machine.
 *
 * Numbers are those of SplitMix32: 2^32 of them before they repeat, which is a thousand times what a demo draws.
 */
const golden = 0x9e3779b9;
const wordRange = 2 ** 32;

export class Chance {
  #state: number;

  /** @param parts what the numbers are for: another list gives others */
  constructor(...parts: readonly number[]) {
    this.#state = parts.reduce((state, part) => mixed(state ^ mixed(part + golden)), golden);
  }

  /** From 0 up to 1. */
  next(): number {
    this.#state = (this.#state + golden) | 0;
    return mixed(this.#state) / wordRange;
  }

  /** From 0 up to `count` - 1. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  pick<T>(list: readonly T[]): T {
    const found = list[this.below(list.length)];
    if (found === undefined) throw new Error('Cannot pick: the list is empty, expected an item');
    return found;
  }

  /** How often something happens that does `mean` times on average (Poisson; Knuth, in parts of 30). */
  times(mean: number): number {
    let count = 0;
    for (let left = mean; left > 0; left -= 30) {
      const limit = Math.exp(-Math.min(left, 30));
      for (let product = this.next(); product > limit; product *= this.next()) count += 1;
    }
    return count;
  }
}

/** Items with their weights: a look-up takes a binary search. */
export class Weighted<T> {
  readonly #items: readonly T[];
  readonly #sums: readonly number[];

  constructor(pairs: ReadonlyArray<readonly [item: T, weight: number]>) {
    let sum = 0;
    this.#items = pairs.map(([item]) => item);
    this.#sums = pairs.map(([, weight]) => (sum += weight));
  }

  pick(chance: Chance): T {
    const point = chance.next() * (this.#sums.at(-1) ?? 0);
    let low = 0;
    let high = this.#sums.length - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#sums[middle]! > point) high = middle;
      else low = middle + 1;
    }
    const found = this.#items[low];
    if (found === undefined) throw new Error('Cannot pick: there are no items, expected one');
    return found;
  }
}

/** SplitMix32's finish: https://doi.org/10.1145/2714064.2660195, with the constants of MurmurHash3. */
function mixed(value: number): number {
  let word = value | 0;
  word = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  word = Math.imul(word ^ (word >>> 13), 0xc2b2ae35);
  return (word ^ (word >>> 16)) >>> 0;
}
