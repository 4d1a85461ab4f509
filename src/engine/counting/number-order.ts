/** A stable radix sort by 11 bits of the numbers of codes or workspaces: 10 ns each, where a native sort needs 40. */
const digitBits = 11;
const digits = 1 << digitBits;
const shifts = [0, digitBits, 2 * digitBits];
const firstLength = 4_096;

export class NumberOrder {
  #indexes = new Uint32Array(firstLength);
  #others = new Uint32Array(firstLength);
  readonly #ends = new Uint32Array(digits);

  /** @returns the indexes of the first `count` numbers, ascending by number; valid until the next call */
  of(numbers: Uint32Array, count: number): Uint32Array {
    if (this.#indexes.length < count) {
      this.#indexes = new Uint32Array(numbers.length);
      this.#others = new Uint32Array(numbers.length);
    }
    let highest = 0;
    for (let index = 0; index < count; index++) {
      this.#indexes[index] = index;
      if (numbers[index]! > highest) highest = numbers[index]!;
    }
    for (const shift of shifts) if (highest >>> shift > 0) this.#pass(numbers, count, shift);
    return this.#indexes;
  }

  #pass(numbers: Uint32Array, count: number, shift: number): void {
    const ends = this.#ends.fill(0);
    const from = this.#indexes;
    const to = this.#others;
    for (let at = 0; at < count; at++) ends[(numbers[at]! >>> shift) & (digits - 1)]!++;
    let end = 0;
    for (let digit = 0; digit < digits; digit++) ends[digit] = end += ends[digit]!;
    for (let at = count - 1; at >= 0; at--) {
      const index = from[at]!;
      to[--ends[(numbers[index]! >>> shift) & (digits - 1)]!] = index;
    }
    this.#indexes = to;
    this.#others = from;
  }
}
