/**
 * Whether the data folder and its files are still where they were at the start. They may be moved away or unmounted
 * under a running service: what is open goes on wherever it is (LMDB's files, the newest journal segments), so
 * redirects and changes do too. What is opened by its path waits: no shard and no redirect thread starts again, no
 * segment begins, none is read, so that nothing is made anew at a path that has nothing, or has another folder.
 * Looked at every second: five calls of stat.
 */
import { existsSync } from 'node:fs';
import { displacement, type Place, placeOf } from '../../scans/journal/place.ts';
import type { HealthCheck } from '../../telemetry/health.ts';
import type { Logger } from '../../telemetry/log.ts';

export class FolderWatch {
  readonly #paths: readonly string[];
  readonly #places = new Map<string, Place>();
  readonly #log: Logger;
  #problem: string | undefined;
  #waiting: Array<() => void> = [];

  /** @param paths the folder first; a file that is made later is known from then on */
  constructor(paths: readonly string[], log: Logger) {
    this.#paths = paths;
    this.#log = log;
    this.examine();
  }

  get healthCheck(): HealthCheck {
    return { name: 'folder', problem: () => this.examine() };
  }

  /** What is not where it was; undefined = nothing. */
  examine(): string | undefined {
    const problem = this.#find();
    if (problem !== undefined && this.#problem === undefined) {
      this.#log.error(
        { problem },
        'the data folder was moved away or unmounted: redirects go on, counting waits for it',
      );
    }
    if (problem === undefined && this.#problem !== undefined) {
      this.#log.info('the data folder is back, counting resumed');
    }
    this.#problem = problem;
    if (problem === undefined) for (const resolve of this.#waiting.splice(0)) resolve();
    return problem && `${problem}: put it back, counting waits for it`;
  }

  /** Resolves at once, or when it is back: for threads that start again. */
  async whenInPlace(): Promise<void> {
    if (this.examine() === undefined) return;
    await new Promise<void>((resolve) => void this.#waiting.push(resolve));
  }

  /** The outermost only: what is below a folder that has gone has gone with it. */
  #find(): string | undefined {
    for (const path of this.#paths) {
      const place = this.#places.get(path);
      if (place !== undefined) {
        const problem = displacement(place);
        if (problem !== undefined) return problem;
      } else if (existsSync(path)) this.#places.set(path, placeOf(path));
    }
    return undefined;
  }
}
