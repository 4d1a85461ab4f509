/**
 * The load generator for scans on new connections. It is an open loop: scans start at a steady rate, however slow the
 * service answers. Response times are counted by phase: `steady` = one process from the scan's start to its end.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { build, type Histogram } from 'hdr-histogram-js';
import { type Fault, type ScanRequest, send } from './scan-request.ts';

export type Phase = 'steady' | 'takeover';

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
  readonly times: Record<Phase, Times>;
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
  readonly #times = { steady: histogram(), takeover: histogram() };
  readonly #faults: Record<Fault, number> = {
    refused: 0,
    reset: 0,
    'timed out': 0,
    'redirect loop': 0,
    'local error': 0,
  };
  #sent = 0;
  /** Due and not sent, because there was nothing to scan or the generator was late. */
  #skipped = 0;
  #inFlight = 0;
  #lateMsMax = 0;
  phase: Phase = 'steady';

  constructor(options: ScanGeneratorOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.#tick(), tickMs);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Sends no more; resolves once every scan has its outcome. */
  async finish(): Promise<void> {
    this.close();
    while (this.#inFlight > 0) await pause(checkMs);
  }

  get sums(): ScanSums {
    const { steady, takeover } = this.#times;
    return {
      sent: this.#sent,
      answered: steady.totalCount + takeover.totalCount,
      faults: this.#faults,
      times: { steady: timesOf(steady), takeover: timesOf(takeover) },
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
      const phase = sentIn === 'steady' ? this.phase : sentIn;
      if (typeof end === 'string') {
        this.#faults[end]++;
        scan.onFault?.();
        return;
      }
      this.#times[phase].recordValue(
        Math.max(1, Math.round((performance.now() - sentMs) * microseconds)),
      );
      scan.onResponse(end.status, end.location);
    });
  }
}

function timesOf(times: Histogram): Times {
  const at = (percentile: number): number => times.getValueAtPercentile(percentile) / microseconds;
  return { count: times.totalCount, p50Ms: at(50), p99Ms: at(99), maxMs: at(100) };
}
