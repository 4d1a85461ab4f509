import { cachedEnvironment } from '../../support/stripped-cache.ts';

/** What a process is started with so that it is killed when it gives a file or folder this name: see kill-at.ts. */
export function killedAt(path: string): Record<string, string> {
  const killer = new URL('./kill-at.ts', import.meta.url).href;
  return { NODE_OPTIONS: `${cachedEnvironment.NODE_OPTIONS} --import=${killer}`, KILL_AT: path };
}
