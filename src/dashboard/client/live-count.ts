/**
 * Scans that the stream told since the sums were read. They count at once; a reading some seconds later
 * takes their place, so that both never drift apart. Nobody looking, nothing is read: it waits for them.
 */
import { useEffect, useRef, useState } from 'preact/hooks';

export interface LiveCount {
  /** To be added to what was read. */
  readonly extra: number;
  readonly add: () => void;
}

/**
 * @param settleMs after scans the sums are read again, but not more often than this
 * @param reload reads the sums
 */
export function useLiveCount(settleMs: number, reload: () => Promise<void>): LiveCount {
  const [extra, setExtra] = useState(0);
  const told = useRef(0);
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
    const before = told.current;
    await read.current();
    told.current -= before;
    setExtra(told.current);
  };
  const add = (): void => {
    told.current += 1;
    setExtra(told.current);
    wait();
  };
  return { extra, add };
}
