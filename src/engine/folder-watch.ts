/**
 * Checks every second (five calls of stat) that the data folder and its files are still at their paths. If they were moved
 * or unmounted, redirects and changes continue in open files, and whatever opens a path waits: no thread restarts, no segment
 * begins or is read. So the service makes no file in a folder that is not its own.
 */
import { existsSync } from 'node:fs';
import { displacement, type FileIdentity, identify } from './journal/file-identity.ts';
import type { HealthCheck } from '../platform/health.ts';
import type { Logger } from '../platform/log.ts';

export class FolderWatch {
  readonly #paths: readonly string[];
  readonly #places = new Map<string, FileIdentity>();
  readonly #log: Logger;
  #problem: string | undefined;
  #waiting: Array<() => void> = [];

  /** @param paths the folder first; a file that does not exist yet is watched once it does */
  constructor(paths: readonly string[], log: Logger) {
    this.#paths = paths;
    this.#log = log;
    this.examine();
  }

  get healthCheck(): HealthCheck {
    return { name: 'folder', problem: () => this.examine() };
  }

  examine(): string | undefined {
    const problem = this.#find();
    if (problem !== undefined && this.#problem === undefined) {
      this.#log.error(
        { problem },
        'the data folder was moved or unmounted: redirects continue, counting waits for it',
      );
    }
    if (problem === undefined && this.#problem !== undefined) {
      this.#log.info('the data folder is back, counting resumed');
    }
    this.#problem = problem;
    if (problem === undefined) for (const resolve of this.#waiting.splice(0)) resolve();
    return problem && `${problem}: put it back, counting waits for it`;
  }

  /** Resolves at once, or when the folder is back: for threads that restart. */
  async whenInPlace(): Promise<void> {
    if (this.examine() === undefined) return;
    await new Promise<void>((resolve) => void this.#waiting.push(resolve));
  }

  /** Only the outermost: what is in a folder moves with it. */
  #find(): string | undefined {
    for (const path of this.#paths) {
      const place = this.#places.get(path);
      if (place !== undefined) {
        const problem = displacement(place);
        if (problem !== undefined) return problem;
      } else if (existsSync(path)) this.#places.set(path, identify(path));
    }
    return undefined;
  }
}
