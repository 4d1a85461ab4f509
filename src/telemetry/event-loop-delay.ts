/**
 * The delay of this thread's event loop, for metrics.
 *
 * Each sample wakes the thread: prom-client's 100 per second were two thirds of the CPU time of an idle service. So this
 * measures only while scrapes come; the first scrape after a pause reads 0.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** A sample includes this step, which `read` subtracts. */
const sampleMs = 50;
/** Prometheus scrapes once a minute by default. */
const unreadMsMax = 180_000;
const nanosecondsPerMs = 1_000_000;
const nanosecondsPerSecond = 1_000_000_000;

/** Seconds. */
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

  get isMeasuring(): boolean {
    return this.#ending !== undefined;
  }

  /** The delay since the last call; all 0 when that was more than `unreadMsMax` ago. */
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
