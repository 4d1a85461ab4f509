/**
 * Latencies of a redirect thread in microseconds, sent to the control thread as counts of all buckets: the package's
 * own encoding loads two compressors into each thread, 10 MB and 30 ms.
 */
import { constructorFromBucketSize } from 'hdr-histogram-js/dist/JsHistogramFactory.js';

export type LatencyHistogram = InstanceType<ReturnType<typeof constructorFromBucketSize>>;

const countBits = 64;

/** Longer latencies count as a minute. */
const microsecondsMax = 60_000_000;
const significantDigits = 2;

export function createLatencyHistogram(): LatencyHistogram {
  const Counts = constructorFromBucketSize(countBits);
  return new Counts(1, microsecondsMax, significantDigits);
}

/** Returns all counts and resets the histogram: 20 KB, or an empty array. */
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
