/**
 * The load generator for scans on new connections. It is an open loop: scans start at a steady rate, however slow the
 * service answers. Outcomes and response times are counted by phase, the later one of a scan's start and end:
 *
 *   steady     one process                   booting    a successor starts beside it
 *   changing   from the successor's readiness to the end of its predecessor
 */
import { setTimeout as pause } from 'node:timers/promises';
import { build, type Histogram } from 'hdr-histogram-js';
import { type Fault, type ScanRequest, send } from './scan-request.ts';

export type Phase = 'steady' | 'booting' | 'changing';
const phases: readonly Phase[] = ['steady', 'booting', 'changing'];

export interface ScanGeneratorOptions {
  readonly port: number;
  readonly perSecond: number;
  /** @returns undefined when there is nothing to scan yet */
  readonly next: () => ScanRequest | undefined;
}

export interface Times {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface ScanSums {
  readonly sent: number;
  readonly answered: number;
  readonly faults: Record<Fault, number>;
  readonly faultsByPhase: Record<Phase, number>;
  readonly selfRedirects: number;
  readonly times: Record<Phase | 'takeover', Times>;
  /** Longest delay of a scan in the generator itself. */
  readonly lateMsMax: number;
}

const tickMs = 1;
const checkMs = 4;
const microseconds = 1_000;
/** Scans that one tick sends at most: a stall of the generator is no reason for a burst. */
const burstMax = 20;

const histogram = (): Histogram => build({ numberOfSignificantValueDigits: 3 });

export class ScanGenerator {
  readonly #options: ScanGeneratorOptions;
  readonly #timer: NodeJS.Timeout;
  readonly #startedMs = performance.now();
  readonly #times = { steady: histogram(), booting: histogram(), changing: histogram() };
  readonly #faults: Record<Fault, number> = {
    refused: 0,
    reset: 0,
    'timed out': 0,
    'redirect loop': 0,
    'local error': 0,
  };
  readonly #faultsByPhase: Record<Phase, number> = { steady: 0, booting: 0, changing: 0 };
  #sent = 0;
  /** Due and not sent, because there was nothing to scan or the generator was late. */
  #skipped = 0;
  #inFlight = 0;
  #selfRedirects = 0;
  #lateMsMax = 0;
  phase: Phase = 'steady';

  constructor(options: ScanGeneratorOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#tick(), tickMs);
  }

  /** Sends no more; resolves once every scan has its outcome. */
  async finish(): Promise<void> {
    clearInterval(this.#timer);
    while (this.#inFlight > 0) await pause(checkMs);
  }

  get sums(): ScanSums {
    const { steady, booting, changing } = this.#times;
    const takeover = histogram();
    takeover.add(booting);
    takeover.add(changing);
    return {
      sent: this.#sent,
      answered: steady.totalCount + takeover.totalCount,
      faults: this.#faults,
      faultsByPhase: this.#faultsByPhase,
      selfRedirects: this.#selfRedirects,
      times: {
        steady: timesOf(steady),
        booting: timesOf(booting),
        changing: timesOf(changing),
        takeover: timesOf(takeover),
      },
      lateMsMax: this.#lateMsMax,
    };
  }

  #tick(): void {
    const { perSecond, next } = this.#options;
    const elapsedMs = performance.now() - this.#startedMs;
    const due = Math.floor((elapsedMs * perSecond) / 1_000) - this.#skipped - this.#sent;
    this.#lateMsMax = Math.max(this.#lateMsMax, (due / perSecond) * 1_000);
    for (let number = 0; number < due; number++) {
      const scan = number < burstMax ? next() : undefined;
      if (scan === undefined) this.#skipped++;
      else this.#send(scan);
    }
  }

  #send(scan: ScanRequest): void {
    this.#sent++;
    this.#inFlight++;
    const sentIn = this.phase;
    const sentMs = performance.now();
    send(this.#options.port, scan, (end) => {
      this.#inFlight--;
      const phase = later(sentIn, this.phase);
      if (typeof end === 'string') {
        this.#faults[end]++;
        this.#faultsByPhase[phase]++;
        scan.onFault?.();
        return;
      }
      this.#selfRedirects += end.selfRedirects;
      this.#times[phase].recordValue(
        Math.max(1, Math.round((performance.now() - sentMs) * microseconds)),
      );
      scan.onResponse(end.status, end.location);
    });
  }
}

const later = (one: Phase, other: Phase): Phase =>
  phases.indexOf(one) > phases.indexOf(other) ? one : other;

function timesOf(times: Histogram): Times {
  const at = (percentile: number): number => times.getValueAtPercentile(percentile) / microseconds;
  return { count: times.totalCount, p50Ms: at(50), p99Ms: at(99), maxMs: at(100) };
}
