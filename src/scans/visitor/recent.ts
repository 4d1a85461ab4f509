/**
 * A bounded memory of recent keys, in two generations of half the entries each: when the younger is full
 * it becomes the older one, which is freed whole; an entry that is asked for again moves over.
 * Not lru-cache: nothing is tracked per look-up, so a warm one costs what a Map's does on the hot path.
 */
export class Recent<Key, Value> {
  readonly #generationMax: number;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();

  /** @param entriesMax never exceeded */
  constructor(entriesMax: number) {
    this.#generationMax = Math.max(1, entriesMax >>> 1);
  }

  get size(): number {
    return this.#young.size + this.#old.size;
  }

  find(key: Key): Value | undefined {
    const young = this.#young.get(key);
    return young === undefined ? this.#findOld(key) : young;
  }

  /** @param key not in here: `find` found nothing */
  keep(key: Key, value: Value): void {
    if (this.#young.size === this.#generationMax) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, value);
  }

  #findOld(key: Key): Value | undefined {
    const old = this.#old.get(key);
    if (old === undefined) return undefined;
    this.#old.delete(key);
    this.keep(key, old);
    return old;
  }
}
