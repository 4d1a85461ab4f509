/**
 * A log in memory, and a handle on it for each machine, with every fault that the port allows (src/cluster/log/ordered-log.ts),
 * drawn from the randomness handed in and switched at any time by `faults`. Without faults it is the model of the port. All
 * order and time is that of the `Later` handed in: the same draws make the same run.
 *
 *     append ──under way──▶ arrives: in order ──▶ lands │ is lost │ lands late, behind others
 *                                                   └──▶ answered │ answer lost │ a second copy lands late
 *     follow ──▶ deliveries of 1..n entries, each at once, late or after a stall; before each the reading may end
 *
 * Never: an entry out of order, twice, changed or left out within one reading. Bodies are passed on, not copied.
 */
import type {
  LogBounds,
  LogReader,
  OrderedLog,
  Reading,
} from '../../../src/cluster/log/ordered-log.ts';
import type { Later } from '../virtual-time.ts';

/** Real time, for tests without a simulation. */
const realLater: Later = (ms, run) => {
  if (ms > 0) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  }
  const immediate = setImmediate(run);
  return () => clearImmediate(immediate);
};

export class MemoryStream {
  /** From `#first` on. */
  #bodies: Uint8Array[] = [];
  #first = 1;
  /** Called when entries were appended, pruned or lost; may not change the stream. */
  readonly watchers = new Set<() => void>();

  get first(): number {
    return this.#first;
  }

  get last(): number {
    return this.#first + this.#bodies.length - 1;
  }

  append(body: Uint8Array): number {
    this.#bodies.push(body);
    this.#changed();
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
    this.#changed();
  }

  /** Loses the entries above `last`, which may have been answered: their positions are given to others. */
  loseAbove(last: number): void {
    if (last >= this.last) return;
    this.#bodies.length = Math.max(0, last - this.#first + 1);
    this.#changed();
  }

  #changed(): void {
    for (const changed of this.watchers) changed();
  }
}

interface ReadingOptions {
  readonly stream: MemoryStream;
  readonly later: Later;
  readonly from: number;
  readonly reader: LogReader;
  /** Asked before each delivery: after how long it comes. */
  readonly delayMs: () => number;
  /** How many entries it may bring. */
  readonly entriesMax: () => number;
  /** Why it ends the reading instead. */
  readonly fault: () => Error | undefined;
  /** It was stopped, or ended. */
  readonly gone: (reading: MemoryReading) => void;
}

class MemoryReading implements Reading {
  readonly #options: ReadingOptions;
  #next: number;
  #stopped = false;
  /** Takes back the delivery that is due. */
  #due: (() => void) | undefined;

  constructor(options: ReadingOptions) {
    this.#options = options;
    this.#next = options.from;
    options.stream.watchers.add(this.#changed);
    this.#changed();
  }

  readonly #changed = (): void => {
    const { stream, later, delayMs } = this.#options;
    if (this.#stopped || this.#due !== undefined) return;
    const waits = this.#next > stream.last && this.#next >= stream.first;
    if (!waits) this.#due = later(delayMs(), () => this.#deliver());
  };

  #deliver(): void {
    this.#due = undefined;
    const { stream, fault, entriesMax, reader } = this.#options;
    if (this.#next < stream.first) {
      this.end(new Error(`Entry ${this.#next} was pruned: the log begins at ${stream.first}`));
      return;
    }
    const error = fault();
    if (error !== undefined) {
      this.end(error);
      return;
    }
    // The reader may stop, append and prune.
    for (let left = entriesMax(); left > 0 && this.#hasNext(); left--) {
      const seq = this.#next++;
      reader.entry(seq, stream.at(seq), 0);
    }
    this.#changed();
  }

  #hasNext(): boolean {
    const { stream } = this.#options;
    return !this.#stopped && this.#next >= stream.first && this.#next <= stream.last;
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#options.stream.watchers.delete(this.#changed);
    this.#due?.();
    this.#options.gone(this);
  }

  end(error: Error): void {
    if (this.#stopped) return;
    this.stop();
    this.#options.reader.ended(error);
  }
}

/** Shares of 1, and bounds of what is drawn evenly. */
export interface LogFaults {
  /** Of appends: appended, and rejected. */
  readonly lostAnswer: number;
  /** Of appends: not appended, and rejected. */
  readonly lostAppend: number;
  /** Of appends: rejected, and appended up to `lateMs` later. */
  readonly late: number;
  /** Of appends: answered, and appended once more up to `lateMs` later. */
  readonly duplicate: number;
  readonly lateMs: number;
  /** Of deliveries: the reading ends instead. */
  readonly end: number;
  /** Of deliveries: it comes up to `stallMs` later. */
  readonly stall: number;
  readonly stallMs: number;
  /** Each way, answer and delivery takes up to this long. */
  readonly latencyMs: number;
  /** A delivery brings 1 to this many entries. */
  readonly entriesMax: number;
}

export const noFaults: LogFaults = {
  lostAnswer: 0,
  lostAppend: 0,
  late: 0,
  duplicate: 0,
  lateMs: 0,
  end: 0,
  stall: 0,
  stallMs: 0,
  latencyMs: 0,
  entriesMax: Infinity,
};

/** What does not get through while the rest does: a path of one machine, or the brokers' own trouble. */
export interface Cut {
  readonly appends: boolean;
  readonly readings: boolean;
  /** `old`: answered by a broker that knows no more than when the cut began. */
  readonly bounds: 'asked' | 'unanswered' | 'old';
}

export const noCut: Cut = { appends: false, readings: false, bounds: 'asked' };

/** An append may take 5 s: two ways of `latencyMs` fit in the rest. */
const unansweredMs = 4_000;
/** Within the 2 s of bounds. */
const unaskedMs = 1_500;
/** A reading notices within this time that the log is away. */
const noticedMs = 3_000;

interface Append {
  readonly body: Uint8Array;
  readonly resolve: (seq: number) => void;
  readonly reject: (error: Error) => void;
}

export class MemoryLog implements OrderedLog {
  /** Counts for what begins from now on. */
  faults: LogFaults;
  readonly #stream: MemoryStream;
  readonly #random: () => number;
  readonly #later: Later;
  readonly #readings = new Set<MemoryReading>();
  /** Not arrived yet, in the order of the calls. */
  readonly #underWay: Append[] = [];
  #isKilled = false;
  #away = false;
  #cut = noCut;
  #oldBounds: LogBounds | undefined;

  /** @param random from 0 up to 1; draws nothing without faults */
  constructor(
    stream: MemoryStream,
    later: Later = realLater,
    random = () => 0,
    faults: LogFaults = noFaults,
  ) {
    this.faults = faults;
    this.#stream = stream;
    this.#random = random;
    this.#later = later;
  }

  /** Cut off: what is asked from now on is refused, though what is under way may still land; readings end in a while. */
  leave(): void {
    if (this.#away) return;
    this.#away = true;
    for (const reading of this.#readings) this.#endAway(reading);
  }

  comeBack(): void {
    this.#away = false;
  }

  /** What does not get through from now on. */
  set cut(cut: Cut) {
    this.#cut = cut;
    const { first, last } = this.#stream;
    this.#oldBounds = cut.bounds === 'old' ? { first, last } : undefined;
  }

  /** The machine died: nothing answers or delivers any more. What is under way may still land. */
  kill(): void {
    this.#isKilled = true;
    for (const reading of this.#readings) reading.stop();
  }

  append(body: Uint8Array): Promise<number> {
    return new Promise((resolve, reject) => {
      if (this.#isKilled) return;
      this.#underWay.push({ body, resolve, reject });
      this.#later(this.#latency(), this.#arrive);
    });
  }

  /** The oldest under way, whichever this was called for: appends of one handle arrive in order. */
  readonly #arrive = (): void => {
    const append = this.#underWay.shift();
    if (append === undefined) return;
    const { body } = append;
    const { late, lateMs, lostAppend, lostAnswer, duplicate } = this.faults;
    const draw = this.#random();
    // What a dead machine had handed to its socket arrives, or does not.
    const unsent = this.#away || this.#cut.appends || (this.#isKilled && this.#hits(0.5));
    if (draw < late) {
      this.#later(this.#upTo(lateMs), () => void this.#stream.append(body));
      this.#refuse(append);
      return;
    }
    if (unsent || draw < late + lostAppend) {
      this.#refuse(append);
      return;
    }
    const seq = this.#stream.append(body);
    if (this.#hits(duplicate)) {
      this.#later(this.#upTo(lateMs), () => void this.#stream.append(body));
    }
    if (this.#hits(lostAnswer)) this.#refuse(append);
    else this.#later(this.#latency(), () => this.#answer(append, seq));
  };

  #refuse({ reject }: Append): void {
    this.#later(this.#upTo(unansweredMs), () => this.#reject(reject));
  }

  #answer(append: Append, seq: number): void {
    if (this.#away) this.#refuse(append);
    else if (!this.#isKilled) append.resolve(seq);
  }

  #reject(reject: (error: Error) => void): void {
    if (!this.#isKilled) reject(new Error('The log did not answer'));
  }

  follow(from: number, reader: LogReader): Reading {
    const reading = new MemoryReading({
      stream: this.#stream,
      later: this.#later,
      from,
      reader,
      delayMs: () => this.#deliveryMs(),
      entriesMax: () => this.#entriesMax(),
      fault: () =>
        this.#away || this.#cut.readings || this.#hits(this.faults.end)
          ? new Error('The reading was lost')
          : undefined,
      gone: (gone) => void this.#readings.delete(gone),
    });
    if (this.#isKilled) {
      reading.stop();
      return reading;
    }
    this.#readings.add(reading);
    if (this.#away) this.#endAway(reading);
    return reading;
  }

  #endAway(reading: MemoryReading): void {
    this.#later(this.#upTo(noticedMs), () => {
      if (this.#away) reading.end(new Error('The log is away'));
    });
  }

  bounds(): Promise<LogBounds> {
    return this.#ask(
      () => this.#oldBounds ?? { first: this.#stream.first, last: this.#stream.last },
    );
  }

  prune(below: number): Promise<void> {
    return this.#ask(() => this.#stream.prune(below));
  }

  #ask<T>(work: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#isKilled) return;
      this.#later(this.#latency(), () => {
        const isCut = this.#away || this.#cut.bounds === 'unanswered';
        if (isCut || this.#hits(this.faults.lostAnswer)) {
          this.#later(this.#upTo(unaskedMs), () => this.#reject(reject));
        } else if (!this.#isKilled) {
          resolve(work());
        }
      });
    });
  }

  #hits(share: number): boolean {
    return share > 0 && this.#random() < share;
  }

  #upTo(ms: number): number {
    return this.#random() * ms;
  }

  #latency(): number {
    const { latencyMs } = this.faults;
    return latencyMs === 0 ? 0 : this.#random() * latencyMs;
  }

  #deliveryMs(): number {
    const { stall, stallMs } = this.faults;
    if (this.#away || this.#cut.readings) return this.#upTo(noticedMs);
    return this.#latency() + (this.#hits(stall) ? this.#upTo(stallMs) : 0);
  }

  #entriesMax(): number {
    const { entriesMax } = this.faults;
    return entriesMax === Infinity ? Infinity : 1 + Math.floor(this.#random() * entriesMax);
  }
}
