/**
 * Metrics in Prometheus' text format, by prom-client, which adds those of the process.
 *
 * Events of this thread are counted as they happen (`counter`, `histogram`). Existing values (shared memory of threads, the
 * store) are read at each scrape: a `gauge`, `total` or `summary` has a `collect` function. A collect that throws drops its
 * own metric only. Labels are for closed sets (route, status, reason): with client input they grow without bound.
 */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { EventLoopDelay, type LoopDelay } from './event-loop-delay.ts';

export type Labels = Readonly<Record<string, string | number>>;

export interface Sample {
  readonly labels?: Labels;
  readonly value: number;
}

export type Collect = () => number | Iterable<Sample>;

export interface CounterHandle {
  add(amount: number, labels?: Labels): void;
}

export interface HistogramHandle {
  observe(value: number, labels?: Labels): void;
}

/** Quantiles by their number: 0.5, 0.99. */
export interface SummarySample {
  readonly labels?: Labels;
  readonly quantiles: Readonly<Record<string, number>>;
  readonly count: number;
  readonly sum: number;
}

/** prom-client's own sampler of the event loop cannot be removed; with this step, 24 days, it never wakes the thread. */
const neverMs = 2 ** 31 - 1;
const loopDelays = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'] as const;

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
        this.#collect(name, collect, gauge, (labels, value) => gauge.set(labels, value)),
    });
  }

  /** A count that only grows. @param name ends in `_total` */
  total(name: string, help: string, labelNames: readonly string[], collect: Collect): void {
    const counter: Counter = new Counter({
      ...this.#describe(name, help, labelNames),
      collect: () =>
        this.#collect(name, collect, counter, (labels, value) => counter.inc(labels, value)),
    });
  }

  summary(
    name: string,
    help: string,
    labelNames: readonly string[],
    collect: () => Iterable<SummarySample>,
  ): void {
    const flatten = function* (part: 'quantiles' | 'count' | 'sum'): Generator<Sample> {
      for (const sample of collect()) {
        const labels = sample.labels ?? {};
        if (part !== 'quantiles') yield { labels, value: sample[part] };
        else
          for (const [quantile, value] of Object.entries(sample.quantiles))
            yield { labels: { ...labels, quantile }, value };
      }
    };
    this.gauge(name, help, [...labelNames, 'quantile'], () => flatten('quantiles'));
    this.total(`${name}_count`, `${help}: how many`, labelNames, () => flatten('count'));
    this.total(`${name}_sum`, `${help}: their sum`, labelNames, () => flatten('sum'));
  }

  async text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** Replaces prom-client's metrics (event-loop-delay.ts); one scrape reads the delay once. */
  #measureEventLoop(): void {
    const delay = new EventLoopDelay();
    let read: LoopDelay | undefined;
    for (const [at, part] of loopDelays.entries()) {
      const name = `nodejs_eventloop_lag_${part}_seconds`;
      this.#registry.removeSingleMetric(name);
      this.gauge(name, `Event loop delay since the last scrape: ${part}`, [], () => {
        if (at === 0) read = delay.read();
        return read?.[part] ?? 0;
      });
    }
  }

  #describe(name: string, help: string, labelNames: readonly string[]) {
    return { name, help, labelNames: [...labelNames], registers: [this.#registry] };
  }

  #collect(
    name: string,
    collect: Collect,
    metric: { reset(): void },
    set: (labels: Labels, value: number) => void,
  ): void {
    metric.reset();
    try {
      const values = collect();
      if (typeof values === 'number') set({}, values);
      else for (const { labels = {}, value } of values) set(labels, value);
    } catch (error) {
      this.#onFault(name, error);
    }
  }
}
