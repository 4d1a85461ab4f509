/**
 * The entries of a log in memory, and readings of them. Each machine of a cluster has a handle (memory-log.ts).
 *
 * Each delivery goes through the `Later` handed in, so that a simulation owns all order and time. Bodies are passed on,
 * not copied: neither writer nor reader may change one.
 */
import type { LogReader, Reading } from '../../../src/cluster/log/ordered-log.ts';

/** Runs `run` once, after `ms`, never at once; what it returns takes that back. */
export type Later = (ms: number, run: () => void) => () => void;

/** Real time, for tests without a simulation. */
export const realLater: Later = (ms, run) => {
  if (ms > 0) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  }
  const immediate = setImmediate(run);
  return () => clearImmediate(immediate);
};

interface StreamWatcher {
  /** Entries were appended, pruned or lost. It must not change the stream. */
  changed(): void;
}

export class MemoryStream {
  /** From `#first` on. */
  #bodies: Uint8Array[] = [];
  #first = 1;
  readonly #watchers = new Set<StreamWatcher>();

  get first(): number {
    return this.#first;
  }

  get last(): number {
    return this.#first + this.#bodies.length - 1;
  }

  append(body: Uint8Array): number {
    this.#bodies.push(body);
    this.#tell();
    return this.last;
  }

  /** @throws RangeError where there is no such entry */
  at(seq: number): Uint8Array {
    const body = this.#bodies[seq - this.#first];
    if (body === undefined) throw new RangeError(`No entry ${seq}`);
    return body;
  }

  prune(below: number): void {
    const count = Math.min(below - this.#first, this.#bodies.length);
    if (count <= 0) return;
    this.#bodies = this.#bodies.slice(count);
    this.#first += count;
    this.#tell();
  }

  /** Loses the entries above `last`, which may have been answered: their positions are given to others. */
  loseAbove(last: number): void {
    if (last >= this.last) return;
    this.#bodies.length = Math.max(0, last - this.#first + 1);
    this.#tell();
  }

  /** @returns ends it */
  watch(watcher: StreamWatcher): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  #tell(): void {
    for (const watcher of this.#watchers) watcher.changed();
  }
}

/** How a reading goes. */
export interface Pace {
  /** Asked before each delivery: after how long it comes. */
  delayMs(): number;
  /** How many entries it may bring. */
  entriesMax(): number;
  /** Why it ends the reading instead. */
  fault(): Error | undefined;
}

interface ReadingOptions {
  readonly stream: MemoryStream;
  readonly later: Later;
  readonly pace: Pace;
  readonly from: number;
  readonly reader: LogReader;
  /** It was stopped, or ended. */
  readonly gone: (reading: MemoryReading) => void;
}

export class MemoryReading implements Reading, StreamWatcher {
  readonly #options: ReadingOptions;
  readonly #unwatch: () => void;
  #next: number;
  #stopped = false;
  /** Takes back the delivery that is due. */
  #due: (() => void) | undefined;

  constructor(options: ReadingOptions) {
    this.#options = options;
    this.#next = options.from;
    this.#unwatch = options.stream.watch(this);
    this.changed();
  }

  changed(): void {
    const { stream, later, pace } = this.#options;
    if (this.#stopped || this.#due !== undefined) return;
    const waits = this.#next > stream.last && this.#next >= stream.first;
    if (!waits) this.#due = later(pace.delayMs(), this.#deliver);
  }

  readonly #deliver = (): void => {
    this.#due = undefined;
    const { stream, pace, reader } = this.#options;
    if (this.#next < stream.first) {
      this.end(new Error(`Entry ${this.#next} was pruned: the log begins at ${stream.first}`));
      return;
    }
    const fault = pace.fault();
    if (fault !== undefined) {
      this.end(fault);
      return;
    }
    // The reader may stop, append and prune.
    for (let left = pace.entriesMax(); left > 0 && this.#hasNext(); left--) {
      const seq = this.#next++;
      reader.entry(seq, stream.at(seq), 0);
    }
    this.changed();
  };

  #hasNext(): boolean {
    const { stream } = this.#options;
    return !this.#stopped && this.#next >= stream.first && this.#next <= stream.last;
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#unwatch();
    this.#due?.();
    this.#options.gone(this);
  }

  end(error: Error): void {
    if (this.#stopped) return;
    this.stop();
    this.#options.reader.ended(error);
  }
}
