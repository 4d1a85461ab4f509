/** Repeats a refused request when its wait is over. Resources do so by themselves. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { now } from './browser-clock.ts';
import type { Problem } from './problem.ts';

export function useRetry(problem: Problem | undefined, retry: () => void): void {
  const latest = useRef(retry);
  latest.current = retry;
  useEffect(() => {
    if (problem?.retryAtMs === undefined) return undefined;
    const timer = setTimeout(() => latest.current(), problem.retryAtMs - now());
    return () => clearTimeout(timer);
  }, [problem]);
}

const secondMs = 1_000;

/** Whole seconds until then, counting down; 0 from then on. */
export function useSecondsUntil(atMs: number): number {
  const secondsNow = (): number => Math.max(0, Math.ceil((atMs - now()) / secondMs));
  const [seconds, setSeconds] = useState(secondsNow);
  useEffect(() => {
    setSeconds(secondsNow());
    const timer = setInterval(() => setSeconds(secondsNow()), secondMs);
    return () => clearInterval(timer);
  }, [atMs]);
  return seconds;
}
