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
}
