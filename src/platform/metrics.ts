/**
 * Metrics in Prometheus' text format, by prom-client, which adds those of the process. Events of this thread are counted as
 * they happen (`counter`, `histogram`); existing values are read at each scrape (`gauge`, `total`), and a collect that
 * throws drops its own metric only. Labels are for closed sets: with client input they grow without bound.
 */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

export type Labels = Readonly<Record<string, string | number>>;

export interface Sample {
  readonly labels?: Labels;
  readonly value: number;
}

/** A number, samples, or for a metric with one label a value for each of its texts. */
export type Collect = () => number | Iterable<Sample> | Readonly<Record<string, number>>;

export interface CounterHandle {
  add(amount: number, labels?: Labels): void;
}

export interface HistogramHandle {
  observe(value: number, labels?: Labels): void;
}

/** prom-client's own sampler of the event loop cannot be removed; with this step, 24 days, it never wakes the thread. */
const neverMs = 2 ** 31 - 1;
/** prom-client samples every 10 ms, which is two thirds of the CPU time of an idle service. */
const sampleMs = 50;
const nanosecondsPerSecond = 1e9;
/** A sample includes the step before it. */
const sampleNs = sampleMs * 1e6;
/** Nanoseconds. The last one ends an interval. */
const loopDelays: ReadonlyArray<[part: string, read: (delay: IntervalHistogram) => number]> = [
  ['min', ({ min }) => min - sampleNs],
  ['max', ({ max }) => max - sampleNs],
  ['mean', ({ mean }) => mean - sampleNs],
  ['stddev', ({ stddev }) => stddev],
  ['p50', (delay) => delay.percentile(50) - sampleNs],
  ['p90', (delay) => delay.percentile(90) - sampleNs],
  ['p99', (delay) => delay.percentile(99) - sampleNs],
];

export class Metrics {
  readonly #registry = new Registry();
  readonly #onFault: (metric: string, error: unknown) => void;

  constructor(onFault: (metric: string, error: unknown) => void) {
    this.#onFault = onFault;
    collectDefaultMetrics({ register: this.#registry, eventLoopMonitoringPrecision: neverMs });
    this.#measureEventLoop();
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** Counts events of this thread. @param name ends in `_total` */
  counter(name: string, help: string, labelNames: readonly string[] = []): CounterHandle {
    const counter = new Counter(this.#describe(name, help, labelNames));
    return { add: (amount, labels = {}) => counter.inc(labels, amount) };
  }

  /** The distribution of events of this thread. @param buckets ascending upper bounds */
  histogram(
    name: string,
    help: string,
    buckets: readonly number[],
    labelNames: readonly string[] = [],
  ): HistogramHandle {
    const described = this.#describe(name, help, labelNames);
    const histogram = new Histogram({ ...described, buckets: [...buckets] });
    return { observe: (value, labels = {}) => histogram.observe(labels, value) };
  }

  gauge(name: string, help: string, labelNames: readonly string[], collect: Collect): void {
    const gauge: Gauge = new Gauge({
      ...this.#describe(name, help, labelNames),
      collect: () =>
        this.#collect(name, labelNames, collect, gauge, (labels, value) =>
          gauge.set(labels, value),
        ),
    });
  }

  /** A count that only grows. @param name ends in `_total` */
  total(name: string, help: string, labelNames: readonly string[], collect: Collect): void {
    const counter: Counter = new Counter({
      ...this.#describe(name, help, labelNames),
      collect: () =>
        this.#collect(name, labelNames, collect, counter, (labels, value) =>
          counter.inc(labels, value),
        ),
    });
  }

  async text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** Replaces prom-client's metrics of the event loop's delay; measures from the first scrape on. */
  #measureEventLoop(): void {
    const delay = monitorEventLoopDelay({ resolution: sampleMs });
    for (const [at, [part, read]] of loopDelays.entries()) {
      const name = `nodejs_eventloop_lag_${part}_seconds`;
      this.#registry.removeSingleMetric(name);
      this.gauge(name, `Event loop delay since the last scrape: ${part}`, [], () => {
        const nanoseconds = delay.count === 0 ? 0 : Math.max(0, read(delay));
        if (at === loopDelays.length - 1) {
          delay.reset();
          delay.enable();
        }
        return nanoseconds / nanosecondsPerSecond;
      });
    }
  }

  #describe(name: string, help: string, labelNames: readonly string[]) {
    return { name, help, labelNames: [...labelNames], registers: [this.#registry] };
  }

  #collect(
    name: string,
    [label = '']: readonly string[],
    collect: Collect,
    metric: { reset(): void },
    set: (labels: Labels, value: number) => void,
  ): void {
    metric.reset();
    try {
      const values = collect();
      if (typeof values === 'number') set({}, values);
      else if (isIterable(values)) for (const { labels = {}, value } of values) set(labels, value);
      else for (const [text, value] of Object.entries(values)) set({ [label]: text }, value);
    } catch (error) {
      this.#onFault(name, error);
    }
  }
}

const isIterable = (values: object): values is Iterable<Sample> => Symbol.iterator in values;
