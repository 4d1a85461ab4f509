/**
 * Scans from the stream since the sums were loaded. They count at once; a reload some seconds later replaces them, so
 * that both stay equal. A hidden page does not reload.
 */
import { useEffect, useRef, useState } from 'preact/hooks';

export interface LiveCount {
  /** To add to the loaded sums. */
  readonly extra: number;
  readonly add: () => void;
}

/**
 * @param settleMs time from a scan to the reload of the sums
 * @param reload loads the sums
 */
export function useLiveCount(settleMs: number, reload: () => Promise<void>): LiveCount {
  const [extra, setExtra] = useState(0);
  const counted = useRef(0);
  const timer = useRef<number | undefined>(undefined);
  const read = useRef(reload);
  read.current = reload;
  useEffect(() => () => clearTimeout(timer.current), []);
  const wait = (): void => {
    timer.current ??= window.setTimeout(() => {
      timer.current = undefined;
      if (document.visibilityState === 'hidden') wait();
      else void settle();
    }, settleMs);
  };
  const settle = async (): Promise<void> => {
    const before = counted.current;
    await read.current();
    counted.current -= before;
    setExtra(counted.current);
  };
  const add = (): void => {
    counted.current += 1;
    setExtra(counted.current);
    wait();
  };
  return { extra, add };
}
