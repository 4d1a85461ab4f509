/**
 * How attempts ended, on disk as soon as it is known: what lets results wait for one another's transaction.
 *
 *   heard --> a line --> [ the results of a window ] --> one transaction of the delivery store --> file emptied
 *
 * A commit costs 0.8 ms of CPU whatever it holds (pages written, a sync), a line 10 us. A process that dies in
 * between finds the lines when it starts again, so no delivery that was answered is sent twice for the wait.
 *
 *   delivery.results.0, .1    by turns: one is written while the results of the other commit
 *   line                      crc32 of the JSON, 8 hexadecimal digits | space | JSON list of results | \n
 *
 * A line that is torn or damaged is passed over, and its deliveries go out again. Lines survive the death of the
 * process, not the loss of power: then, too, what they tell of goes out again. A result is told apart from one
 * that is committed already by its attempt's number, so reading lines twice does no harm.
 */
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs';
import { crc32 } from 'node:zlib';
import type { AttemptRecord } from '../../model/webhook.ts';
import { type PackedAttempt, packAttempt, unpackAttempt } from './delivery.ts';

/** How an attempt ended, with all that its verdict depends on. */
export interface JournaledResult {
  readonly deliveryNo: number;
  /** Of all attempts of the delivery, from 1. */
  readonly attemptNo: number;
  /** Wheel time at which it was heard. */
  readonly wheelMs: number;
  /** Drawn once, 0 to 1: whoever commits it decides the same. */
  readonly random: number;
  readonly attempt: AttemptRecord;
}

/** JournaledResult's fields in this order. */
type PackedHeard = readonly [
  deliveryNo: number,
  attemptNo: number,
  wheelMs: number,
  random: number,
  attempt: PackedAttempt,
];

const crcDigits = 8;

interface Part {
  readonly file: number;
  bytes: number;
}

export class ResultJournal {
  #current: Part;
  #other: Part;
  #left: readonly JournaledResult[];

  /** @param path of the delivery store's file; the journal's are beside it */
  constructor(path: string) {
    const base = path.replace(/\.mdb$/, '');
    this.#current = openPart(`${base}.results.0`);
    this.#other = openPart(`${base}.results.1`);
    this.#left = [...linesOf(this.#current), ...linesOf(this.#other)].toSorted(
      (one, other) => one.wheelMs - other.wheelMs || one.attemptNo - other.attemptNo,
    );
  }

  /** What the process before left, in the order in which it was heard; nothing after `forget`. */
  get left(): readonly JournaledResult[] {
    return this.#left;
  }

  /** @throws Error of the system when the disk takes no more; nothing of it is there then */
  append(results: readonly JournaledResult[]): void {
    const packed = results.map(pack);
    const json = JSON.stringify(packed);
    const part = this.#current;
    const line = Buffer.from(`${crcOf(json)} ${json}\n`);
    let written = 0;
    try {
      while (written < line.length) {
        written += writeSync(part.file, line, written, line.length - written, part.bytes + written);
      }
    } catch (error) {
      ftruncateSync(part.file, part.bytes);
      throw error;
    }
    part.bytes += line.length;
  }

  /** What is appended from here on belongs to a later transaction than what was. */
  turn(): void {
    // The other one is freed by `settle`; where that failed, both go on in one file.
    if (this.#other.bytes > 0) return;
    [this.#current, this.#other] = [this.#other, this.#current];
  }

  /** What was appended before the last `turn` is committed. */
  settle(): void {
    try {
      empty(this.#other);
    } catch {
      // A bad disk. The lines stay, and the next process passes over them: they are committed.
    }
  }

  /** What was left is committed, or will not be. To be said before anything is appended or made. */
  forget(): void {
    this.#left = [];
    empty(this.#current);
    empty(this.#other);
  }

  close(): void {
    closeSync(this.#current.file);
    closeSync(this.#other.file);
  }
}

function empty(part: Part): void {
  if (part.bytes === 0) return;
  ftruncateSync(part.file, 0);
  part.bytes = 0;
}

const crcOf = (json: string): string => crc32(json).toString(16).padStart(crcDigits, '0');

const pack = ({
  deliveryNo,
  attemptNo,
  wheelMs,
  random,
  attempt,
}: JournaledResult): PackedHeard => [deliveryNo, attemptNo, wheelMs, random, packAttempt(attempt)];

const linesOf = ({ file }: Part): JournaledResult[] =>
  readFileSync(file, 'utf8').split('\n').flatMap(parseLine);

function parseLine(line: string): JournaledResult[] {
  const json = line.slice(crcDigits + 1);
  if (line.length <= crcDigits || line !== `${crcOf(json)} ${json}`) return [];
  // The checksum says that it is what `append` wrote.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const packed = JSON.parse(json) as readonly PackedHeard[];
  return packed.map(([deliveryNo, attemptNo, wheelMs, random, attempt]) => ({
    deliveryNo,
    attemptNo,
    wheelMs,
    random,
    attempt: unpackAttempt(attempt),
  }));
}

/** Read, write, made when it is absent; for this user alone, as the stores are. */
function openPart(path: string): Part {
  const file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
  return { file, bytes: fstatSync(file).size };
}
