/**
 * The scanning side: phones that come at a steady rate whatever the service does, each on a connection of its own. Every
 * outcome is counted, and every answer's time, apart by what the service is doing when the scan begins or ends:
 *
 *   steady     one process                   booting    a successor starts beside it
 *   changing   from the successor's readiness to the end of its predecessor
 */
import { build, type Histogram } from 'hdr-histogram-js';
import { ask, type Fault } from './ask.ts';

export type Phase = 'steady' | 'booting' | 'changing';
const phases: readonly Phase[] = ['steady', 'booting', 'changing'];

/** A scan and its ledger. */
export interface Asked {
  readonly path: string;
  readonly request: string;
  answered(status: number, location: string): void;
  lost(): void;
}

export interface PhonesOptions {
  readonly port: number;
  readonly perSecond: number;
  /** @returns undefined when there is nothing to scan yet */
  readonly next: () => Asked | undefined;
}

export interface Times {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface PhoneSums {
  readonly sent: number;
  readonly answered: number;
  readonly faults: Record<Fault, number>;
  readonly faultsByPhase: Record<Phase, number>;
  /** Redirects of limited codes to themselves. */
  readonly followed: number;
  readonly times: Record<Phase | 'takeover', Times>;
  /** By how much scans were sent too late, at the most: what the generator itself was held up. */
  readonly lateMsMax: number;
}

const tickMs = 1;
const checkMs = 4;
const microseconds = 1_000;
/** Scans that one tick sends at most: a stall of the generator is no reason for a burst. */
const burstMax = 20;

const histogram = (): Histogram => build({ numberOfSignificantValueDigits: 3 });

export class Phones {
  readonly #options: PhonesOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #startedMs = performance.now();
  readonly #times = { steady: histogram(), booting: histogram(), changing: histogram() };
  readonly #faults: Record<Fault, number> = {
    refused: 0,
    reset: 0,
    'timed out': 0,
    astray: 0,
    unable: 0,
  };
  readonly #faultsByPhase: Record<Phase, number> = { steady: 0, booting: 0, changing: 0 };
  #sent = 0;
  /** What was due and not sent, because nothing could be scanned or the generator was held up. */
  #skipped = 0;
  #answered = 0;
  #followed = 0;
  #lateMsMax = 0;
  phase: Phase = 'steady';

  constructor(options: PhonesOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#tick(), tickMs);
  }

  /** Sends no more; resolves once every scan has its outcome. */
  async finish(): Promise<void> {
    clearInterval(this.#timer);
    while (this.#answered + this.#faulty < this.#sent) {
      await new Promise((resolve) => setTimeout(resolve, checkMs));
    }
  }

  get sums(): PhoneSums {
    const { steady, booting, changing } = this.#times;
    const takeover = histogram();
    takeover.add(booting);
    takeover.add(changing);
    return {
      sent: this.#sent,
      answered: this.#answered,
      faults: { ...this.#faults },
      faultsByPhase: { ...this.#faultsByPhase },
      followed: this.#followed,
      times: {
        steady: timesOf(steady),
        booting: timesOf(booting),
        changing: timesOf(changing),
        takeover: timesOf(takeover),
      },
      lateMsMax: this.#lateMsMax,
    };
  }

  get #faulty(): number {
    return Object.values(this.#faults).reduce((sum, count) => sum + count, 0);
  }

  #tick(): void {
    const { perSecond, next } = this.#options;
    const elapsedMs = performance.now() - this.#startedMs;
    const due = Math.floor((elapsedMs * perSecond) / 1_000) - this.#skipped - this.#sent;
    this.#lateMsMax = Math.max(this.#lateMsMax, (due / perSecond) * 1_000);
    for (let scan = 0; scan < due; scan++) {
      const asked = scan < burstMax ? next() : undefined;
      if (asked === undefined) this.#skipped++;
      else this.#send(asked);
    }
  }

  #send(asked: Asked): void {
    this.#sent++;
    const begun = this.phase;
    const sentMs = performance.now();
    ask({ ...asked, port: this.#options.port }, (end) => {
      const phase = worse(begun, this.phase);
      if (typeof end === 'string') {
        this.#faults[end]++;
        this.#faultsByPhase[phase]++;
        asked.lost();
        return;
      }
      this.#answered++;
      this.#followed += end.followed;
      this.#times[phase].recordValue(
        Math.max(1, Math.round((performance.now() - sentMs) * microseconds)),
      );
      asked.answered(end.status, end.location);
    });
  }
}

const worse = (one: Phase, other: Phase): Phase =>
  phases.indexOf(one) > phases.indexOf(other) ? one : other;

function timesOf(times: Histogram): Times {
  const at = (percentile: number): number => times.getValueAtPercentile(percentile) / microseconds;
  return { count: times.totalCount, p50Ms: at(50), p99Ms: at(99), maxMs: at(100) };
}
