import { preload } from '../../support/program.ts';

/** What a process is started with so that it is killed when it gives a file or folder this name: see kill-at.ts. */
export function killedAt(path: string): Record<string, string> {
  return { NODE_OPTIONS: preload('kill-at'), KILL_AT: path };
}
