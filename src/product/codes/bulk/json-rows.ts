/**
 * Rows of JSON while it arrives: the elements of a list, or the lines of NDJSON, each as its own bytes.
 *
 *   [ {…} , {…} , {…} ]        one pass that knows strings and depth, nothing else; what is inside an
 *   {…}\n{…}\n{…}\n            element is for the JSON parser, so a broken row breaks no other
 *
 * Memory holds one row of at most `rowBytesMax`; a longer row is reported and its bytes are dropped. A fault of
 * the list itself (no list, no end, something after it) ends the reading.
 */
import { Failure } from '../../../model/failure.ts';

/** A row longer than this is refused: the largest honest one has 15 KB, or 350 KB with its logo. */
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
const mark = Buffer.from('\ufeff');

const isSpace = (byte: number): boolean =>
  byte === 0x20 || byte === newline || byte === 0x0d || byte === 0x09;

/** The bytes of one row, collected over pieces; white space before it is left out. */
class RowBytes {
  #parts: Uint8Array[] = [];
  #length = 0;
  #line = 1;

  get isBlank(): boolean {
    return this.#length === 0;
  }

  /** @param line of the row, if it begins in this part */
  take(part: Uint8Array, line: number): void {
    if (this.isBlank) {
      if (part.every(isSpace)) return;
      this.#line = line;
    }
    this.#length += part.byteLength;
    // A copy: the piece is its source's to use again. Beyond the bound only the length counts.
    if (this.#length <= rowBytesMax) this.#parts.push(Uint8Array.from(part));
  }

  end(): JsonRow {
    const bytes = this.#length > rowBytesMax ? tooLong() : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#length = 0;
    return { bytes, line: this.#line };
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

/** The elements of the list that the whole text is. @throws Failure invalid_json, validation_failed */
export async function* listRows(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<JsonRow> {
  const row = new RowBytes();
  let place: 'before' | 'inside' | 'after' = 'before';
  let [depth, line, rowLine] = [0, 1, 1];
  let [isInString, isEscaped, hasRows] = [false, false, false];
  for await (const piece of withoutMark(pieces)) {
    // Of the row in this piece.
    let start = 0;
    for (let at = 0; at < piece.byteLength; at += 1) {
      const byte = piece[at] ?? 0;
      const isFirst = start === at && row.isBlank;
      if (byte === newline) line += 1;
      if (isInString) {
        isInString = isEscaped || byte !== quote;
        isEscaped = !isEscaped && byte === backslash;
      } else if (isSpace(byte)) {
        if (isFirst) start = at + 1;
      } else if (place !== 'inside') {
        assertOpens(byte, place);
        place = 'inside';
        start = at + 1;
      } else if (depth === 0 && (byte === comma || byte === closeBracket)) {
        row.take(piece.subarray(start, at), rowLine);
        if (row.isBlank && (byte === comma || hasRows)) {
          throw unreadable('a row of the list is missing between its commas');
        }
        if (!row.isBlank) yield row.end();
        hasRows = true;
        if (byte === closeBracket) place = 'after';
        start = at + 1;
      } else {
        if (isFirst) rowLine = line;
        if (byte === quote) isInString = true;
        else if (byte === openBrace || byte === openBracket) depth += 1;
        else if (byte === closeBrace || byte === closeBracket) depth -= 1;
        if (depth < 0) throw unreadable('a bracket closes what is not open');
      }
    }
    if (place === 'inside') row.take(piece.subarray(start), rowLine);
  }
  if (place === 'before') throw unreadable('it is empty, expected a list');
  if (place === 'inside') throw unreadable('it ends too early, expected the end of the list');
}

/** @param place of the byte, which is not white space and not inside the list */
function assertOpens(byte: number, place: 'before' | 'after'): void {
  if (place === 'after') throw unreadable('something follows the end of the list');
  if (byte === openBracket) return;
  const message = 'Expected a list of codes';
  throw new Failure('validation_failed', 'Cannot read the body: it is not a list', {
    faults: [{ path: '', code: 'wrong_type', message }],
  });
}

/** A byte order mark at the very start is not part of the text; pieces may end within it. */
async function* withoutMark(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const piece of pieces) {
    head &&= Buffer.concat([head, piece]);
    if (head !== undefined && head.byteLength < mark.byteLength) continue;
    yield head?.indexOf(mark) === 0 ? head.subarray(mark.byteLength) : (head ?? piece);
    head = undefined;
  }
  if (head !== undefined) yield head;
}

function tooLong(): Failure {
  return new Failure('body_too_large', `This row is larger than ${rowBytesMax} bytes`);
}

function unreadable(reason: string): Failure {
  return new Failure('invalid_json', `Cannot read the body: ${reason}`);
}
