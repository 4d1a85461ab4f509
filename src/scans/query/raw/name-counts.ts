/** Counts by name, bounded as a rollup's are (rollup.ts), and counted by number: a name is looked up when it is new. */
import { type NamedDimension, otherName, type Rollup } from '../../rollup.ts';

export class NameCounts {
  readonly #max: number;
  readonly #numbers = new Map<string, number>();
  readonly #names: string[] = [];
  #counts = new Float64Array(256);

  /** @param max names beyond it count as `other` */
  constructor(max: number) {
    this.#max = max;
  }

  numberOf(name: string): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    if (this.#numbers.size >= this.#max && name !== otherName) return this.numberOf(otherName);
    const number = this.#names.push(name) - 1;
    this.#numbers.set(name, number);
    if (number === this.#counts.length) {
      const grown = new Float64Array(number * 2);
      grown.set(this.#counts);
      this.#counts = grown;
    }
    return number;
  }

  count(number: number): void {
    this.#counts[number]!++;
  }

  addTo(rollup: Rollup, dimension: NamedDimension): void {
    for (const [number, name] of this.#names.entries()) {
      rollup.countName(dimension, name, this.#counts[number]);
    }
  }
}
