/**
 * The delay of this thread's event loop, for the metrics of a scraped service.
 *
 * Measuring it wakes the thread at each sample: at prom-client's 100 a second that was two thirds of all that an idle
 * service did. So it is measured between scrapes only, and stops when none has come for a while; the first scrape
 * after that finds nothing and reads 0.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** 20 samples a second. What a sample measures includes this step, which is taken off again. */
const sampleMs = 50;
/** Prometheus scrapes once a minute by default. */
const unreadMsMax = 180_000;
const nanosecondsPerMs = 1_000_000;
const nanosecondsPerSecond = 1_000_000_000;

/** Seconds beyond the time at which the loop should have come round. */
export interface LoopDelay {
  readonly min: number;
  readonly max: number;
  readonly mean: number;
  readonly stddev: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
}

export class EventLoopDelay {
  readonly #histogram = monitorEventLoopDelay({ resolution: sampleMs });
  #ending: NodeJS.Timeout | undefined;

  /** It is measured now: somebody has read it recently. */
  get isMeasuring(): boolean {
    return this.#ending !== undefined;
  }

  /** Since the last call, which must not be longer ago than `unreadMsMax`: else all 0. */
  read(): LoopDelay {
    const histogram = this.#histogram;
    const isEmpty = histogram.count === 0;
    const delay = (nanoseconds: number): number =>
      isEmpty ? 0 : Math.max(0, nanoseconds - sampleMs * nanosecondsPerMs) / nanosecondsPerSecond;
    const read = {
      min: delay(histogram.min),
      max: delay(histogram.max),
      mean: delay(histogram.mean),
      stddev: isEmpty ? 0 : histogram.stddev / nanosecondsPerSecond,
      p50: delay(histogram.percentile(50)),
      p90: delay(histogram.percentile(90)),
      p99: delay(histogram.percentile(99)),
    };
    histogram.reset();
    if (this.#ending === undefined) histogram.enable();
    clearTimeout(this.#ending);
    this.#ending = setTimeout(() => this.#end(), unreadMsMax);
    this.#ending.unref();
    return read;
  }

  #end(): void {
    this.#ending = undefined;
    this.#histogram.disable();
    this.#histogram.reset();
  }
}
