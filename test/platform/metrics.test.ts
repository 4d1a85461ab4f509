/** Metrics: what was counted here and what is collected from elsewhere, in Prometheus' text format. */
import { expect, test } from 'vitest';
import {
  addCounts,
  createLatencyHistogram,
  takeCounts,
} from '../../src/platform/latency-histogram.ts';
import { Metrics } from '../../src/platform/metrics.ts';

const line = (text: string, start: string): string | undefined =>
  text.split('\n').find((one) => one.startsWith(start));

test('counters and histograms count, with their labels', async () => {
  const metrics = new Metrics(() => undefined);
  const requests = metrics.counter('requests_total', 'Requests', ['status']);
  requests.add(1, { status: 200 });
  requests.add(2, { status: 200 });
  metrics.histogram('took_seconds', 'Time', [0.1, 1]).observe(0.5);
  const text = await metrics.text();
  expect(line(text, 'requests_total')).toBe('requests_total{status="200"} 3');
  expect(line(text, 'took_seconds_bucket{le="1"}')).toBe('took_seconds_bucket{le="1"} 1');
  expect(text).toContain('# TYPE requests_total counter');
  expect(text).toContain('process_cpu_seconds_total');
});

test('gauges and totals are asked for at each scrape', async () => {
  const metrics = new Metrics(() => undefined);
  let lag = 5;
  metrics.gauge('lag_scans', 'Lag', ['journal'], () => [{ labels: { journal: 0 }, value: lag }]);
  metrics.total('dropped_total', 'Dropped', [], () => 7);
  expect(line(await metrics.text(), 'lag_scans{')).toBe('lag_scans{journal="0"} 5');
  lag = 6;
  const text = await metrics.text();
  expect(line(text, 'lag_scans{')).toBe('lag_scans{journal="0"} 6');
  expect(line(text, 'dropped_total')).toBe('dropped_total 7');
});

test('a collect that throws spoils its own metric, not the scrape', async () => {
  const faults: string[] = [];
  const metrics = new Metrics((metric) => faults.push(metric));
  metrics.gauge('broken', 'Broken', [], () => {
    throw new Error('gone');
  });
  metrics.gauge('fine', 'Fine', [], () => 1);
  expect(line(await metrics.text(), 'fine')).toBe('fine 1');
  expect(faults).toEqual(['broken']);
});

test('a loop that was blocked between two scrapes says for how long', async () => {
  const metrics = new Metrics(() => undefined);
  const max = async (): Promise<number> =>
    Number(line(await metrics.text(), 'nodejs_eventloop_lag_max_seconds ')?.split(' ')[1]);
  expect(await max()).toBe(0);
  // The sampler has to have begun a step before one can be late.
  await expect
    .poll(async () => {
      const endMs = performance.now() + 200;
      await new Promise((resolve) => setImmediate(resolve));
      while (performance.now() < endMs);
      await new Promise((resolve) => setImmediate(resolve));
      return await max();
    })
    .toBeGreaterThan(0.1);
});

test('more than 2^32 latencies still have quantiles and a mean', () => {
  const [thread, all] = [createLatencyHistogram(), createLatencyHistogram()];
  thread.recordValueWithCount(100, 2 ** 31);
  thread.recordValueWithCount(5_000, 2 ** 20);
  const counts = takeCounts(thread);
  expect(thread.totalCount).toBe(0);
  for (let i = 0; i < 3; i++) addCounts(all, counts);
  expect(all.totalCount).toBe(3 * (2 ** 31 + 2 ** 20));
  expect(all.getValueAtPercentile(50)).toBe(100);
  expect(all.mean).toBeCloseTo(102.4, 0);
});
