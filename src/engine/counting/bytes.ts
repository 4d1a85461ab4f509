/**
 * Small binary values: variable-length integers (LEB128, up to 2^53), texts, bytes. The writer reuses one buffer: store what
 * `take` returns before you begin the next value.
 */
import { dataDamaged } from '../../model/failure.ts';

/**
 * Writes a short text at `at`: a call into native code costs ten times as much.
 * @returns false when the text is not ASCII; what it wrote is then invalid
 */
export function writeAscii(bytes: Uint8Array, at: number, text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    const character = text.charCodeAt(index);
    if (character >= 0x80) return false;
    bytes[at + index] = character;
  }
  return true;
}

export class ByteWriter {
  #bytes = Buffer.allocUnsafeSlow(4_096);
  #end = 0;

  /** Starts a value; drops what an aborted one left. */
  begin(format: number): void {
    this.clear();
    this.byte(format);
  }

  /** Starts a part of a value, without a format. */
  clear(): void {
    this.#end = 0;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#end++] = value;
  }

  /** @param value a whole number from 0 to 2^53 - 1 */
  integer(value: number): void {
    this.#reserve(8);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#end++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#end++] = rest;
  }

  text(value: string): void {
    if (this.#shortText(value)) return;
    const length = Buffer.byteLength(value);
    this.integer(length);
    this.#reserve(length);
    this.#bytes.write(value, this.#end, 'utf8');
    this.#end += length;
  }

  /** For ASCII names, whose length fits one byte. */
  #shortText(value: string): boolean {
    const { length } = value;
    if (length >= 0x80) return false;
    this.#reserve(1 + length);
    if (!writeAscii(this.#bytes, this.#end + 1, value)) return false;
    this.#bytes[this.#end] = length;
    this.#end += 1 + length;
    return true;
  }

  bytes(value: Uint8Array): void {
    this.integer(value.length);
    this.#reserve(value.length);
    this.#bytes.set(value, this.#end);
    this.#end += value.length;
  }

  /** A view, valid until `begin`. */
  take(): Uint8Array {
    return this.#bytes.subarray(0, this.#end);
  }

  #reserve(more: number): void {
    if (this.#end + more <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#end + more));
    grown.set(this.#bytes.subarray(0, this.#end));
    this.#bytes = grown;
  }
}

export class ByteReader {
  readonly #bytes: Uint8Array;
  #at: number;

  constructor(bytes: Uint8Array, start = 0) {
    this.#bytes = bytes;
    this.#at = start;
  }

  byte(): number {
    // Not `>=`: an integer of endless bytes has led to NaN.
    if (!(this.#at < this.#bytes.length)) throw endsEarly();
    return this.#bytes[this.#at++]!;
  }

  integer(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 0x80;
    }
  }

  text(): string {
    const bytes = this.bytes();
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  }

  /** Skips a text or bytes. @returns their length */
  skip(): number {
    const length = this.integer();
    this.#at += length;
    if (!(this.#at <= this.#bytes.length)) throw endsEarly();
    return length;
  }

  /** A new reader of the remaining bytes. */
  rest(): ByteReader {
    return new ByteReader(this.#bytes, this.#at);
  }

  /** A view. Not a Buffer: its `slice` does not copy. */
  bytes(): Uint8Array {
    const length = this.skip();
    const from = this.#bytes.byteOffset + this.#at - length;
    return new Uint8Array(this.#bytes.buffer, from, length);
  }
}

const endsEarly = (): Error => dataDamaged('Cannot read stored value: it ends early');
