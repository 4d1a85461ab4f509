/**
 * A value where lmdb-js put it, mostly into the one buffer that it reads everything into: so one view serves millions
 * of values. One made for each costs as much as reading a small one does.
 */
import { checksumBytes, checksumMark } from './checksum.ts';
import type { ValueInPlace } from './table.ts';

export class PlacedValue implements ValueInPlace {
  bytes: Buffer = Buffer.alloc(0);
  view: DataView = new DataView(new ArrayBuffer(0));
  start = 0;
  end = 0;
  #found: Uint8Array | undefined;
  #content: Uint8Array = new Uint8Array(0);

  /** @param found as lmdb-js gave it: its length is that of the value, natively it may be longer */
  at(found: Uint8Array): this {
    if (found !== this.#found) {
      this.#found = found;
      this.bytes = Buffer.from(found.buffer, found.byteOffset);
      this.view = new DataView(found.buffer, found.byteOffset);
    }
    const hasHead = found.length >= checksumBytes && found[0] === checksumMark;
    this.start = hasHead ? checksumBytes : 0;
    this.end = found.length;
    return this;
  }

  /** The same object for values of one length after another, as the chunks of sketches are. */
  get content(): Uint8Array {
    const { bytes, start, end } = this;
    const known = this.#content;
    const byteOffset = bytes.byteOffset + start;
    const isKnown = known.buffer === bytes.buffer && known.byteOffset === byteOffset;
    if (!isKnown || known.length !== end - start) {
      this.#content = new Uint8Array(bytes.buffer, byteOffset, end - start);
    }
    return this.#content;
  }
}
