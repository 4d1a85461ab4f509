/**
 * The result journal: attempt results appended to disk as soon as they arrive, so that many can share one
 * transaction of the delivery store.
 *
 *   result --> a line --> [ the results of a batch ] --> one transaction of the delivery store --> file emptied
 *
 * A commit costs 0.8 ms of CPU whatever it holds (pages written, a sync), a line 10 us. After a crash the next
 * process reads the lines, so no delivery that was answered is sent twice because its result waited for a batch.
 *
 *   delivery.results.0, .1    in rotation: one is written while the results of the other are committed
 *   line                      crc32 of the JSON, 8 hexadecimal digits | space | JSON list of results | \n
 *
 * A line that is torn or damaged is skipped, and its deliveries are sent again. Lines survive the death of the
 * process, not the loss of power; after that, too, the deliveries are sent again. A result that was already
 * committed is recognised by its attempt number, so reading a line twice does no harm.
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
import { packAttempt, type PackedAttempt, unpackAttempt } from '../../model/attempt-record.ts';
import type { AttemptRecord } from '../../model/webhook.ts';
import type { WheelMs } from '../../model/wheel-time.ts';
import type { EndpointNo } from '../../model/numbers.ts';
import type { OutboxName, Place } from './delivery.ts';

/** How an attempt ended, with everything that the retry decision depends on. */
export interface JournaledResult {
  /** `dlv_…` */
  readonly deliveryId: string;
  readonly endpointNo: EndpointNo;
  /** Where it stands in an outbox; undefined for a row. */
  readonly place: { readonly outbox: OutboxName; readonly place: Place } | undefined;
  /** Counts all attempts of the delivery, from 1. */
  readonly attemptNo: number;
  /** Wheel time at which the result arrived. */
  readonly wheelMs: WheelMs;
  /** 0 to 1, drawn once: a commit that is repeated decides the same. */
  readonly random: number;
  readonly attempt: AttemptRecord;
}

/** JournaledResult's fields in this order. */
export type PackedResult = readonly [
  deliveryId: string,
  endpointNo: EndpointNo,
  outbox: OutboxName | '',
  place: Place | 0,
  attemptNo: number,
  wheelMs: WheelMs,
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
  #uncommitted: readonly JournaledResult[];

  /** @param path of the delivery store's file; the journal's are beside it */
  constructor(path: string) {
    const [first, second] = resultFiles(path);
    this.#current = openPart(first);
    this.#other = openPart(second);
    this.#uncommitted = [...linesOf(this.#current), ...linesOf(this.#other)].toSorted(
      (one, other) => one.wheelMs - other.wheelMs || one.attemptNo - other.attemptNo,
    );
  }

  /** Results that the previous process did not commit, in order of arrival; empty after `clear`. */
  get uncommitted(): readonly JournaledResult[] {
    return this.#uncommitted;
  }

  /** @throws Error of the system when the disk is full; then nothing of it was written */
  append(results: readonly JournaledResult[]): void {
    const part = this.#current;
    const line = Buffer.from(lineOf(results.map(pack)));
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

  /** What is appended from here on belongs to a later transaction than what was appended before. */
  rotate(): void {
    // `markCommitted` empties the other file; where that failed, everything goes into one.
    if (this.#other.bytes > 0) return;
    [this.#current, this.#other] = [this.#other, this.#current];
  }

  /** What was appended before the last `rotate` is committed. */
  markCommitted(): void {
    try {
      empty(this.#other);
    } catch {
      // A bad disk. The lines stay, and the next process skips them because they are committed.
    }
  }

  /** Deletes the uncommitted results, which have been handled. Call it before anything is appended. */
  clear(): void {
    this.#uncommitted = [];
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

const pack = (result: JournaledResult): PackedResult => [
  result.deliveryId,
  result.endpointNo,
  result.place?.outbox ?? '',
  result.place?.place ?? 0,
  result.attemptNo,
  result.wheelMs,
  result.random,
  packAttempt(result.attempt),
];

function unpack(packed: PackedResult): JournaledResult {
  const [deliveryId, endpointNo, outbox, place, attemptNo, wheelMs, random, attempt] = packed;
  return {
    deliveryId,
    endpointNo,
    place: outbox === '' || place === 0 ? undefined : { outbox, place },
    attemptNo,
    wheelMs,
    random,
    attempt: unpackAttempt(attempt),
  };
}

const linesOf = ({ file }: Part): JournaledResult[] =>
  readFileSync(file, 'utf8').split('\n').flatMap(parseLine);

/** The journal's two files. @param path of the delivery store's file */
export function resultFiles(path: string): readonly [string, string] {
  const base = path.replace(/\.mdb$/, '');
  return [`${base}.results.0`, `${base}.results.1`];
}

/** Whole lines whose checksum is wrong: what follows the last one is a line that is being written. */
export function damagedLines(text: string): number {
  return text
    .split('\n')
    .slice(0, -1)
    .filter((line) => !isSound(line)).length;
}

function isSound(line: string): boolean {
  const json = line.slice(crcDigits + 1);
  return line.length > crcDigits && line === `${crcOf(json)} ${json}`;
}

const parseLine = (line: string): JournaledResult[] =>
  (packedResults(line) ?? []).flatMap((one) => (isNumbered(one) ? [] : [unpack(one)]));

/** Releases before version 3 of the store named deliveries by numbers; the store's migration names them. */
export type PackedByNumber = readonly [
  deliveryNo: number,
  attemptNo: number,
  wheelMs: WheelMs,
  random: number,
  attempt: PackedAttempt,
];

export const isNumbered = (one: PackedResult | PackedByNumber): one is PackedByNumber =>
  typeof one[0] === 'number';

/** A whole line. */
export function lineOf(results: readonly PackedResult[]): string {
  const json = JSON.stringify(results);
  return `${crcOf(json)} ${json}\n`;
}

/** Of a line without its end; undefined for one that is torn or damaged. */
export function packedResults(
  line: string,
): ReadonlyArray<PackedResult | PackedByNumber> | undefined {
  if (!isSound(line)) return undefined;
  // The checksum proves that `append` wrote it.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return JSON.parse(line.slice(crcDigits + 1)) as ReadonlyArray<PackedResult | PackedByNumber>;
}

/** Opened for reading and writing, created when absent; for this user alone, as the stores are. */
function openPart(path: string): Part {
  const file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
  return { file, bytes: fstatSync(file).size };
}
