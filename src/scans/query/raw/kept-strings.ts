/**
 * Numbers by the bytes of a string, kept while there is space: an open hash table over flat arrays that grows by doubling.
 * Bounds: 65,536 strings of 4 MB together; when they are full all are let go.
 */
const keptMax = 65_536;
const keptBytesMax = 4_194_304;
const firstKept = 512;
const firstBytes = 8_192;
const factor = 0x9e3779b1;
const wordBytes = 4;

export class KeptStrings {
  /** By slot: the number of a kept string, 0 = free. At most half of the slots are taken. */
  #slots = new Int32Array(firstKept * 2);
  /** By number of a kept string; its bytes end where those of the next begin. */
  #hashes = new Int32Array(firstKept + 2);
  #values = new Int32Array(firstKept + 2);
  #starts = new Uint32Array(firstKept + 2);
  #bytes = new DataView(new ArrayBuffer(firstBytes));
  #kept = 0;
  /** Of the string that was looked for last, for `keep`. */
  #hash = 0;

  /** @param length at least 4 @returns -1 = it is not kept; what was kept is 0 or more */
  find(view: DataView, at: number, length: number): number {
    const hash = hashOf(view, at, length);
    const last = this.#slots.length - 1;
    this.#hash = hash;
    for (let slot = hash & last; ; slot = (slot + 1) & last) {
      const kept = this.#slots[slot]!;
      if (kept === 0) return -1;
      if (this.#isSame(kept, view, at, length)) return this.#values[kept]!;
    }
  }

  /** Keeps a value of the string that was just looked for. */
  keep(view: DataView, at: number, length: number, value: number): void {
    const hash = this.#hash;
    if (this.#kept === keptMax || this.#starts[this.#kept + 1]! + length > keptBytesMax) {
      this.#slots.fill(0);
      this.#kept = 0;
    }
    const start = this.#starts[this.#kept + 1]!;
    if (this.#kept + 3 > this.#values.length) this.#growKept();
    while (start + length > this.#bytes.byteLength) this.#growBytes();
    const kept = ++this.#kept;
    for (let index = 0; index < length; index++) {
      this.#bytes.setUint8(start + index, view.getUint8(at + index));
    }
    this.#hashes[kept] = hash;
    this.#values[kept] = value;
    this.#starts[kept + 1] = start + length;
    this.#place(kept);
  }

  #isSame(kept: number, view: DataView, at: number, length: number): boolean {
    const start = this.#starts[kept]!;
    if (this.#starts[kept + 1]! - start !== length) return false;
    const bytes = this.#bytes;
    const last = length - wordBytes;
    for (let index = 0; index < last; index += wordBytes) {
      if (bytes.getInt32(start + index, true) !== view.getInt32(at + index, true)) return false;
    }
    return bytes.getInt32(start + last, true) === view.getInt32(at + last, true);
  }

  #place(kept: number): void {
    const last = this.#slots.length - 1;
    let slot = this.#hashes[kept]! & last;
    while (this.#slots[slot] !== 0) slot = (slot + 1) & last;
    this.#slots[slot] = kept;
  }

  #growKept(): void {
    const length = (this.#values.length - 2) * 2 + 2;
    this.#hashes = grown(this.#hashes, new Int32Array(length));
    this.#values = grown(this.#values, new Int32Array(length));
    this.#starts = grown(this.#starts, new Uint32Array(length));
    this.#slots = new Int32Array(this.#slots.length * 2);
    for (let kept = 1; kept <= this.#kept; kept++) this.#place(kept);
  }

  #growBytes(): void {
    const { buffer, byteLength } = this.#bytes;
    const bytes = grown(new Uint8Array(buffer), new Uint8Array(byteLength * 2));
    this.#bytes = new DataView(bytes.buffer);
  }
}

function grown<Numbers extends Int32Array | Uint32Array | Uint8Array>(
  from: Numbers,
  to: Numbers,
): Numbers {
  to.set(from);
  return to;
}

/** The last word overlaps with the one before. */
function hashOf(view: DataView, at: number, length: number): number {
  const last = at + length - wordBytes;
  let hash = length;
  for (let from = at; from < last; from += wordBytes) {
    hash = Math.imul(hash ^ view.getInt32(from, true), factor);
    hash ^= hash >>> 15;
  }
  hash = Math.imul(hash ^ view.getInt32(last, true), factor);
  return hash ^ (hash >>> 15);
}
