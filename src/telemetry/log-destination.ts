/**
 * Writes log lines to a non-blocking descriptor or a file, and never blocks the service when the reader stalls (a full
 * pipe), closes it, or the disk is full.
 *
 *   line --> [ waiting, at most 64 KiB ] --> write without waiting
 *              full, or the reader is gone: lost and counted
 *
 * Lines stay complete and in order: a partial write continues later, and a report of lost lines takes their place.
 * pino's own destination (sonic-boom) does neither: it puts the rest of a line in front of the next reader's lines,
 * and accepts shorter lines after it has dropped longer ones.
 */
import { writeSync } from 'node:fs';
import { systemErrorCode } from '../model/failure.ts';

/** About 400 lines: enough for a restart of the reader. */
const waitingBytesMax = 65_536;
/** After a loss, no line is accepted above this, so that lost lines are consecutive. */
const waitingBytesLow = waitingBytesMax / 2;
const retryMs = 1_000;
const flushStepMs = 10;
/** The reader is gone; a named pipe may get another one. */
const goneCodes: readonly string[] = ['EPIPE', 'ECONNRESET', 'EBADF'];

interface Line {
  readonly bytes: Buffer;
  readonly lostReported: number;
}

export interface LogDestinationOptions {
  readonly descriptor: number;
  /** Writes a line about lost lines, before the next line is accepted. */
  readonly onLost: (lines: number) => void;
  /** Default: `fs.writeSync`. Must not block. */
  readonly write?: (descriptor: number, bytes: Uint8Array) => number;
}

export class LogDestination {
  readonly #options: Required<LogDestinationOptions>;
  #waiting: Line[] = [];
  #waitingBytes = 0;
  /** Bytes of the first waiting line that are written. */
  #cutBytes = 0;
  /** Whether a lost line is partly written: the next line starts with a line break. */
  #isCut = false;
  #lostUnreported = 0;
  #lostReported = 0;
  #isRetrying = false;
  lost = 0;

  constructor(options: LogDestinationOptions) {
    this.#options = { write: (descriptor, bytes) => writeSync(descriptor, bytes), ...options };
  }

  /** Never throws or waits. @param line with its line break */
  write(line: string): void {
    const bytes = Buffer.from(this.#isCut ? `\n${line}` : line);
    if (this.#waiting.length > 0) this.#send();
    if (this.#lostUnreported > 0 && this.#waitingBytes <= waitingBytesLow) this.#reportLost();
    this.#add({ bytes, lostReported: this.#lostReported });
    this.#send();
  }

  /** Blocks the thread for a slow reader, at most `msMax`. Call it when the process ends. */
  flush(msMax: number): void {
    const sleep = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    for (let waitedMs = 0; this.#send() === 'EAGAIN' && waitedMs < msMax; waitedMs += flushStepMs) {
      Atomics.wait(sleep, 0, 0, flushStepMs);
    }
  }

  #add(line: Line): void {
    const isFull = this.#waitingBytes + line.bytes.length > waitingBytesMax;
    if (isFull || this.#lostUnreported > 0) {
      this.#lose(line);
      return;
    }
    this.#waiting.push(line);
    this.#waitingBytes += line.bytes.length;
  }

  #lose({ lostReported }: Line): void {
    if (lostReported === 0) this.lost++;
    this.#lostUnreported += lostReported === 0 ? 1 : lostReported;
  }

  #loseAll(): void {
    this.#isCut ||= this.#cutBytes > 0;
    while (this.#waiting.length > 0) this.#lose(this.#shift());
  }

  #reportLost(): void {
    this.#lostReported = this.#lostUnreported;
    this.#lostUnreported = 0;
    this.#options.onLost(this.#lostReported);
    this.#lostReported = 0;
  }

  /** @returns the error code that ended the write; undefined = all lines are written */
  #send(): string | undefined {
    const { descriptor, write } = this.#options;
    let reason: string | undefined;
    while (this.#waiting.length > 0 && reason === undefined) {
      const { bytes } = this.#waiting[0]!;
      try {
        this.#cutBytes += write(descriptor, bytes.subarray(this.#cutBytes));
        this.#isCut = false;
        if (this.#cutBytes >= bytes.length) this.#shift();
      } catch (error) {
        reason = systemErrorCode(error);
        if (goneCodes.includes(reason)) this.#loseAll();
      }
    }
    if (this.#waiting.length > 0 || this.#lostUnreported > 0) this.#retryLater();
    return reason;
  }

  #shift(): Line {
    const line = this.#waiting.shift()!;
    this.#waitingBytes -= line.bytes.length;
    this.#cutBytes = 0;
    return line;
  }

  #retryLater(): void {
    if (this.#isRetrying) return;
    this.#isRetrying = true;
    setTimeout(() => {
      this.#isRetrying = false;
      if (this.#waiting.length === 0 && this.#lostUnreported > 0) this.#reportLost();
      else this.#send();
    }, retryMs).unref();
  }
}
