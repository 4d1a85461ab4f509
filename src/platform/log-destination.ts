/**
 * Writes log lines to a non-blocking descriptor or a file. It never blocks the service when the reader stalls (a full
 * pipe), goes away, or the disk is full.
 *
 *   line --> [ waiting, at most 64 KiB ] --> write without waiting
 *              full: lost and counted
 *
 * Lines stay complete and in order. After a loss it accepts no line before the waiting ones are written and the loss is
 * reported. pino's own destination (sonic-boom) accepts shorter lines after it has dropped longer ones, and puts the
 * rest of a line in front of the next reader's lines.
 */
import { writeSync } from 'node:fs';
import { systemErrorCode } from '../model/failure.ts';

/** About 400 lines: enough for a restart of the reader. */
const waitingBytesMax = 65_536;
const retryMs = 1_000;
const flushStepMs = 10;

export interface LogDestinationOptions {
  readonly descriptor: number;
  /** Writes a line about lost lines, before the next line is accepted. */
  readonly onLost: (lines: number) => void;
  /** Default: `fs.writeSync`. Must not block. */
  readonly write?: (descriptor: number, bytes: Uint8Array) => number;
}

export class LogDestination {
  readonly #options: LogDestinationOptions;
  readonly #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  /** Bytes of the first waiting line that are written. */
  #cutBytes = 0;
  #lostUnreported = 0;
  #isRetrying = false;
  lost = 0;

  constructor(options: LogDestinationOptions) {
    this.#options = options;
  }

  /** Never throws or waits. @param line with its line break */
  write(line: string): void {
    this.#send();
    const bytes = Buffer.from(line);
    if (this.#lostUnreported > 0 || this.#waitingBytes + bytes.length > waitingBytesMax) {
      this.lost++;
      this.#lostUnreported++;
    } else {
      this.#waiting.push(bytes);
      this.#waitingBytes += bytes.length;
    }
    this.#send();
  }

  /** Blocks the thread for a slow reader, at most `msMax`. Call it when the process ends. */
  flush(msMax: number): void {
    const sleep = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    for (let waitedMs = 0; this.#send() === 'EAGAIN' && waitedMs < msMax; waitedMs += flushStepMs) {
      Atomics.wait(sleep, 0, 0, flushStepMs);
    }
  }

  /** @returns the error code that ended the write; undefined = all lines are written */
  #send(): string | undefined {
    const { descriptor, onLost, write = writeSync } = this.#options;
    try {
      for (let line = this.#waiting[0]; line !== undefined; line = this.#waiting[0]) {
        this.#cutBytes += write(descriptor, line.subarray(this.#cutBytes));
        if (this.#cutBytes >= line.length) this.#take();
      }
    } catch (error) {
      const code = systemErrorCode(error);
      if (code === 'EPIPE' && this.#cutBytes > 0) this.#repeatCut();
      this.#retryLater();
      return code;
    }
    const lines = this.#lostUnreported;
    this.#lostUnreported = 0;
    if (lines > 0) onLost(lines);
    return undefined;
  }

  #retryLater(): void {
    if (this.#isRetrying) return;
    this.#isRetrying = true;
    setTimeout(() => {
      this.#isRetrying = false;
      this.#send();
    }, retryMs).unref();
  }

  #take(): Uint8Array {
    const line = this.#waiting.shift()!;
    this.#waitingBytes -= line.length;
    this.#cutBytes = 0;
    return line;
  }

  /** The next reader gets the whole line, after a line break: the pipe may still hold the part that is written. */
  #repeatCut(): void {
    const line = Buffer.concat([Buffer.from('\n'), this.#take()]);
    this.#waiting.unshift(line);
    this.#waitingBytes += line.length;
  }
}
