/**
 * Least-recently-used map bounded by bytes. An entry is charged its value, its key at two bytes a
 * character, and a flat price for the map's own cells, so the bound holds for many small entries too.
 */

/** Map cell, object and string headers of an entry, rounded up. */
const entryOverheadBytes = 200;

export class ByteBoundedCache<Value> {
  /** Insertion order is age: a hit moves its entry to the young end. */
  readonly #entries = new Map<string, { readonly value: Value; readonly bytes: number }>();
  readonly #bytesMax: number;
  #bytes = 0;

  /** @param bytesMax 0 = keeps nothing */
  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get count(): number {
    return this.#entries.size;
  }

  find(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** Keeps `value`, letting the oldest go; a value above the whole bound is not kept. */
  put(key: string, value: Value, valueBytes: number): void {
    this.#drop(key);
    const bytes = valueBytes + 2 * key.length + entryOverheadBytes;
    if (bytes > this.#bytesMax) return;
    this.#entries.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#bytesMax) break;
      this.#drop(oldest);
    }
  }

  clear(): void {
    this.#entries.clear();
    this.#bytes = 0;
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#bytes -= entry.bytes;
  }
}
