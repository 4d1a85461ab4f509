import { expect, test } from 'vitest';
import {
  addCounts,
  createLatencyHistogram,
  takeCounts,
} from '../../src/telemetry/latency-histogram.ts';

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
