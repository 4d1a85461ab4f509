/**
 * Latencies of a redirect thread, in microseconds, and how they reach the control thread: as counts, bucket by bucket.
 * The package's own way between threads loads two compressors into each of them: 10 MB and 30 ms of a core.
 */
import { constructorFromBucketSize } from 'hdr-histogram-js/dist/JsHistogramFactory.js';

export type LatencyHistogram = InstanceType<ReturnType<typeof constructorFromBucketSize>>;

/** Bits of a count: a service answers more than 2^32 requests. */
const countBits = 64;

/** Longer ones count as a minute. */
const microsecondsMax = 60_000_000;
const significantDigits = 2;

export function createLatencyHistogram(): LatencyHistogram {
  const Counts = constructorFromBucketSize(countBits);
  return new Counts(1, microsecondsMax, significantDigits);
}

/** Takes all counts out of the histogram: 20 KB, empty where there are none. */
export function takeCounts(histogram: LatencyHistogram): Float64Array {
  if (histogram.totalCount === 0) return new Float64Array(0);
  const counts = Float64Array.from({ length: histogram.countsArrayLength }, (_, index) =>
    histogram.getCountAtIndex(index),
  );
  histogram.reset();
  return counts;
}

export function addCounts(histogram: LatencyHistogram, counts: Float64Array): void {
  for (const [index, count] of counts.entries()) {
    if (count > 0) histogram.recordValueWithCount(histogram.valueFromIndex(index), count);
  }
}
