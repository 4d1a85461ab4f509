/**
 * The milliseconds that some work takes when nothing holds it up: the least of a few runs, of which a machine
 * that is busy may make any one long. For bounds a hundred times above the usual, which only another order of
 * growth reaches.
 */
export function leastMilliseconds(work: () => void): number {
  let least = Infinity;
  for (let run = 0; run < 5; run += 1) {
    const startedMs = performance.now();
    work();
    least = Math.min(least, performance.now() - startedMs);
  }
  return least;
}
