import { preload, withNodeOptions } from '../../support/program.ts';

/** What a process is started with so that it is killed when it gives a file or folder this name: see kill-at.ts. */
export function killedAt(path: string): Record<string, string> {
  const killer = preload('kill-at');
  return { ...withNodeOptions(killer), KILL_AT: path };
}
