/** Every decision of a run comes from here: one seed gives the same kills, codes and writes again. */

/** Mulberry32 (Tommy Ettinger): 32 bits of state, one multiplication a number; good enough to choose. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number in [from, to). */
  between(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from));
  }

  pick<T>(choices: readonly T[]): T {
    const choice = choices[this.between(0, choices.length)];
    if (choice === undefined) throw new Error('Cannot pick from nothing');
    return choice;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** A source of its own, so that what one part draws does not move another's numbers. */
  fork(): Random {
    return new Random(this.between(0, 4_294_967_296));
  }
}
