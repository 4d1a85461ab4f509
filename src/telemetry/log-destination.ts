/**
 * Where log lines go: standard error, which must never hold up the service. Its reader may stall (a full pipe), go away
 * (a closed one), or be a file on a full disk.
 *
 *   line --> [ waiting, 64 KiB at most ] --> write, without waiting
 *              full, or nobody reads any more: lost, counted
 *
 * Lines come out whole and in order. One that the system took in part goes on where it was cut; where lines were lost,
 * the first line that gets through again says how many.
 *
 * The descriptor must be one that does not block, or a file.
 */
import { writeSync } from 'node:fs';
import { systemErrorCode } from '../model/failure.ts';

/** About 400 lines: what happens while a reader restarts. */
const waitingBytesMax = 65_536;
/** Where lines were lost, none is kept before so few wait: those that are lost are lost in a row. */
const waitingBytesLow = waitingBytesMax / 2;
const retryMs = 1_000;
const flushStepMs = 10;
/** The reader is gone; of a named pipe another one may come. */
const goneCodes: readonly string[] = ['EPIPE', 'ECONNRESET', 'EBADF'];

interface Line {
  readonly bytes: Buffer;
  /** Lost lines that this one tells of. */
  readonly tells: number;
}

export interface LogDestinationOptions {
  readonly descriptor: number;
  /** Called before the first line that gets through after some were lost: writes a line about them. */
  readonly onLost: (lines: number) => void;
  /** As `fs.writeSync`, without waiting; a test hands in a reader of its own. */
  readonly write?: (descriptor: number, bytes: Uint8Array) => number;
}

export class LogDestination {
  readonly #options: Required<LogDestinationOptions>;
  #waiting: Line[] = [];
  #waitingBytes = 0;
  /** So much of the first of them is out. */
  #cutBytes = 0;
  /** A line that was lost is out in part: the next one begins a line of its own. */
  #isCut = false;
  #untold = 0;
  #telling = 0;
  #isRetrying = false;
  /** Since the start. */
  lost = 0;

  constructor(options: LogDestinationOptions) {
    this.#options = { write: (descriptor, bytes) => writeSync(descriptor, bytes), ...options };
  }

  /** @param line with its line break. Never throws, never waits */
  write(line: string): void {
    const bytes = Buffer.from(this.#isCut ? `\n${line}` : line);
    if (this.#waiting.length > 0) this.#send();
    if (this.#untold > 0 && this.#waitingBytes <= waitingBytesLow) this.#tell();
    this.#add({ bytes, tells: this.#telling });
    this.#send();
  }

  /** At the end of the process: waits for a reader that is slow, at most `msMax`, with the whole thread. */
  flush(msMax: number): void {
    const sleep = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    for (let waitedMs = 0; this.#send() === 'EAGAIN' && waitedMs < msMax; waitedMs += flushStepMs) {
      Atomics.wait(sleep, 0, 0, flushStepMs);
    }
  }

  #add(line: Line): void {
    const isFull = this.#untold > 0 || this.#waitingBytes + line.bytes.length > waitingBytesMax;
    if (isFull) {
      this.#lose(line);
      return;
    }
    this.#waiting.push(line);
    this.#waitingBytes += line.bytes.length;
  }

  #lose({ tells }: Line): void {
    if (tells === 0) this.lost++;
    this.#untold += tells === 0 ? 1 : tells;
  }

  #loseAll(): void {
    this.#isCut ||= this.#cutBytes > 0;
    while (this.#waiting.length > 0) this.#lose(this.#shift());
  }

  #tell(): void {
    this.#telling = this.#untold;
    this.#untold = 0;
    this.#options.onLost(this.#telling);
    this.#telling = 0;
  }

  /** @returns why the system takes no more now; undefined = it took all */
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
    if (this.#waiting.length > 0 || this.#untold > 0) this.#retryLater();
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
      if (this.#waiting.length === 0 && this.#untold > 0) this.#tell();
      else this.#send();
    }, retryMs).unref();
  }
}
