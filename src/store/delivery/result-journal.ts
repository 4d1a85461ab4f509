/**
 * Attempt results, appended to disk as they arrive, so that many can share one transaction of the delivery store. A
 * line costs 10 µs. After a crash the next process reads the lines, so it does not send a delivery again whose result
 * waited for a batch.
 *
 *   delivery.results.0, .1    in rotation: one is written while the results of the other are committed
 *   line                      crc32 of the JSON, 8 hexadecimal digits | space | JSON list of results | \n
 *
 * A torn or damaged line is skipped, and its deliveries are sent again, as after a power loss: lines survive only the
 * death of the process. A committed result is recognized by its attempt number, so a line may be read twice.
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
import type { WheelMs } from '../../model/wheel-time.ts';
import type { EndpointNo } from '../../model/numbers.ts';
import type { OutboxName, DeliveryRef } from './delivery.ts';

export interface JournaledResult {
  /** `dlv_…` */
  readonly deliveryId: string;
  readonly endpointNo: EndpointNo;
  /** Its source in an outbox; absent for a row. */
  readonly outboxRef?: { readonly outbox: OutboxName; readonly ref: DeliveryRef } | undefined;
  /** Number of the attempt of this delivery, from 1. */
  readonly attemptNo: number;
  readonly wheelMs: WheelMs;
  /** 0 to 1, drawn once, so that a repeated commit decides the same. */
  readonly random: number;
  readonly attempt: AttemptRecord;
}

const crcDigits = 8;

interface Part {
  readonly file: number;
  bytes: number;
}

export class ResultJournal {
  #current: Part;
  #other: Part;
  #uncommitted: readonly JournaledResult[];

  /** @param path of the delivery store's file; the journal's files are next to it */
  constructor(path: string) {
    const [first, second] = resultFiles(path);
    this.#current = openPart(first);
    this.#other = openPart(second);
    this.#uncommitted = [...linesOf(this.#current), ...linesOf(this.#other)].toSorted(
      (one, other) => one.wheelMs - other.wheelMs || one.attemptNo - other.attemptNo,
    );
  }

  /** Results that the previous process did not commit, in order of arrival, until `clear`. */
  get uncommitted(): readonly JournaledResult[] {
    return this.#uncommitted;
  }

  /** @throws Error of the system if the disk is full: nothing was written */
  append(results: readonly JournaledResult[]): void {
    const part = this.#current;
    const line = Buffer.from(lineOf(results));
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

  /** Later results belong to a later transaction than earlier ones. */
  rotate(): void {
    // `markCommitted` empties the other file. If that failed, everything goes into one file.
    if (this.#other.bytes > 0) return;
    [this.#current, this.#other] = [this.#other, this.#current];
  }

  /** Empties the file of before the last `rotate`: its results are committed. */
  markCommitted(): void {
    try {
      empty(this.#other);
    } catch {
      // A bad disk. The lines stay; the next process skips them because they are committed.
    }
  }

  /** Deletes the uncommitted results once they are handled, before the first `append`. */
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

const linesOf = ({ file }: Part): JournaledResult[] =>
  readFileSync(file, 'utf8').split('\n').flatMap(parseLine);

export function resultFiles(path: string): readonly [string, string] {
  const base = path.replace(/\.mdb$/, '');
  return [`${base}.results.0`, `${base}.results.1`];
}

/** Counts complete lines with a wrong checksum; the text after the last newline is still being written. */
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

function parseLine(line: string): JournaledResult[] {
  if (!isSound(line)) return [];
  // The checksum proves that `append` wrote it.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return JSON.parse(line.slice(crcDigits + 1)) as JournaledResult[];
}

function lineOf(results: readonly JournaledResult[]): string {
  const json = JSON.stringify(results);
  return `${crcOf(json)} ${json}\n`;
}

/** Created if missing, readable by this user only, as the stores are. */
function openPart(path: string): Part {
  const file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
  return { file, bytes: fstatSync(file).size };
}
