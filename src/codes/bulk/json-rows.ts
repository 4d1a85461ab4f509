/**
 * Rows of JSON while it arrives: the elements of a list, or the lines of NDJSON, each as its own bytes.
 *
 *   [ {…} , {…} , {…} ]        one pass that knows strings and depth, nothing else; what is inside an
 *   {…}\n{…}\n{…}\n            element is for the JSON parser, so a broken row breaks no other
 *
 * Memory is one row of at most `rowBytesMax`; the bytes of a longer one are thrown away, and the row is
 * reported. A fault of the list itself (no list, no end, something after it) ends the reading.
 */
import { Failure } from '../../model/failure.ts';

/** A row longer than this is no code: the largest honest one has 15 KB, or 350 KB with its logo. */
const rowBytesMax = 524_288;

/** One row: its bytes, or why there are none. */
export interface JsonRow {
  readonly bytes: Uint8Array | Failure;
  /** Line of the file that the row begins on, from 1. */
  readonly line: number;
}

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const newline = 0x0a;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

const isSpace = (byte: number): boolean =>
  byte === 0x20 || byte === newline || byte === 0x0d || byte === 0x09;
const byteOrderMark: readonly number[] = [0xef, 0xbb, 0xbf];

/** The bytes of one row, collected over pieces. */
class RowBytes {
  #options: Uint8Array[] = [];
  #length = 0;
  #isBlank = true;
  line = 1;

  get isBlank(): boolean {
    return this.#isBlank;
  }

  take(part: Uint8Array, line: number): void {
    if (part.byteLength === 0) return;
    if (this.#isBlank) {
      const start = part.findIndex((byte) => !isSpace(byte));
      if (start < 0) return;
      this.#isBlank = false;
      this.line = line;
    }
    this.#length += part.byteLength;
    // A copy: the piece is its source's to use again. Beyond the bound only the length counts.
    if (this.#length <= rowBytesMax) this.#options.push(Uint8Array.from(part));
    else this.#options = [];
  }

  end(): JsonRow {
    const { line } = this;
    const bytes = this.#length > rowBytesMax ? tooLong() : Buffer.concat(this.#options);
    this.#options = [];
    this.#length = 0;
    this.#isBlank = true;
    return { bytes, line };
  }
}

/** The lines that are not blank. */
export async function* ndjsonRows(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<JsonRow> {
  const row = new RowBytes();
  let line = 1;
  for await (const piece of withoutMark(pieces)) {
    let start = 0;
    for (;;) {
      const end = piece.indexOf(newline, start);
      row.take(piece.subarray(start, end < 0 ? piece.byteLength : end), line);
      if (end < 0) break;
      if (!row.isBlank) yield row.end();
      line += 1;
      start = end + 1;
    }
  }
  if (!row.isBlank) yield row.end();
}

/** Position of a byte relative to the list. */
type Place = 'before' | 'inside' | 'after';

/** The elements of the list that the whole text is. @throws Failure invalid_json, validation_failed */
export async function* listRows(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<JsonRow> {
  const list = new ListScan();
  for await (const piece of withoutMark(pieces)) yield* list.scan(piece);
  list.end();
}

class ListScan {
  readonly #row = new RowBytes();
  #place: Place = 'before';
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #hasRows = false;
  #line = 1;

  /** Rows that end in this piece. */
  *scan(piece: Uint8Array): Generator<JsonRow> {
    let start = 0;
    let startLine = this.#line;
    for (let at = 0; at < piece.byteLength; at += 1) {
      const byte = piece[at] ?? 0;
      if (byte === newline) this.#line += 1;
      if (this.#isInString) {
        this.#string(byte);
      } else if (this.#place !== 'inside') {
        this.#outside(byte);
        start = at + 1;
        startLine = this.#line;
      } else if (this.#depth === 0 && (byte === comma || byte === closeBracket)) {
        this.#row.take(piece.subarray(start, at), startLine);
        const row = this.#endRow(byte);
        if (row !== undefined) yield row;
        start = at + 1;
        startLine = this.#line;
      } else {
        this.#step(byte);
        if (this.#row.isBlank && isSpace(byte) && blankSince(piece, start, at)) {
          start = at + 1;
          startLine = this.#line;
        }
      }
    }
    if (this.#place === 'inside') this.#row.take(piece.subarray(start), startLine);
  }

  end(): void {
    if (this.#place === 'before') throw unreadable('it is empty, expected a list');
    if (this.#place === 'inside')
      throw unreadable('it ends too early, expected the end of the list');
  }

  #outside(byte: number): void {
    if (isSpace(byte)) return;
    if (this.#place === 'after') throw unreadable('something follows the end of the list');
    if (byte !== openBracket) {
      const message = 'Expected a list of codes';
      throw new Failure('validation_failed', 'Cannot read the body: it is not a list', {
        faults: [{ path: '', code: 'wrong_type', message }],
      });
    }
    this.#place = 'inside';
  }

  #endRow(byte: number): JsonRow | undefined {
    if (byte === closeBracket) this.#place = 'after';
    if (this.#row.isBlank) {
      if (byte === closeBracket && !this.#hasRows) return undefined;
      throw unreadable('a row of the list is missing between its commas');
    }
    this.#hasRows = true;
    return this.#row.end();
  }

  #string(byte: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (byte === backslash) this.#isEscaped = true;
    else if (byte === quote) this.#isInString = false;
  }

  #step(byte: number): void {
    if (byte === quote) this.#isInString = true;
    else if (byte === openBrace || byte === openBracket) this.#depth += 1;
    else if (byte === closeBrace || byte === closeBracket) this.#depth -= 1;
    if (this.#depth < 0) throw unreadable('a bracket closes what is not open');
  }
}

function blankSince(piece: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (!isSpace(piece[at] ?? 0)) return false;
  return true;
}

/** A byte order mark at the very start is no part of the text. */
async function* withoutMark(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head: Uint8Array | undefined = new Uint8Array(0);
  for await (const piece of pieces) {
    if (head === undefined) {
      yield piece;
      continue;
    }
    head = Buffer.concat([head, piece]);
    if (head.byteLength < byteOrderMark.length) continue;
    yield afterMark(head);
    head = undefined;
  }
  if (head !== undefined && head.byteLength > 0) yield afterMark(head);
}

function afterMark(head: Uint8Array): Uint8Array {
  return byteOrderMark.every((byte, at) => head[at] === byte)
    ? head.subarray(byteOrderMark.length)
    : head;
}

function tooLong(): Failure {
  return new Failure('body_too_large', `This row is larger than ${rowBytesMax} bytes`);
}

function unreadable(reason: string): Failure {
  return new Failure('invalid_json', `Cannot read the body: ${reason}`);
}
