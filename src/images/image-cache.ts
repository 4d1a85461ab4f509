/**
 * Answers to requests for images, in memory, by address. Each knows the version of the image that it shows.
 *
 *   address --> find: nothing was committed since the answer was checked --> sent as it is
 *       |
 *       +--> code, style, version --> check: same version --> sent, and valid until the next commit
 *                             |
 *                             +--> drawn --> put
 *
 * `find` needs no request object and no look-up in the store, so a cached image costs what its bytes cost.
 * Any commit may change a code, so after one the next request of each address compares versions: a deleted
 * code is 410 and a new design is shown at once, and nothing is drawn again without need.
 */
import { LRUCache } from 'lru-cache';
import type { Signal } from '../model/signal.ts';

/** Cells of the map, header texts and objects of an entry, rounded up: bounds the number of small entries. */
const entryOverheadBytes = 500;

export interface ImageAnswer {
  readonly status: 200;
  readonly headers: Readonly<Record<string, string>> & { readonly ETag: string };
  readonly body: Uint8Array;
}

interface Entry {
  readonly answer: ImageAnswer;
  readonly version: string;
  /** Commits that had happened when the version was last checked. */
  commits: number;
}

export class ImageCache {
  readonly #entries: LRUCache<string, Entry>;
  #commits = 0;
  #found = 0;

  /** @param bytesMax 0 = off @param committed fired after a commit, before its request is answered */
  constructor(bytesMax: number, committed: readonly Signal[]) {
    this.#entries = new LRUCache({
      // lru-cache takes 0 for "no bound". No entry is as small as 1 byte.
      maxSize: Math.max(1, bytesMax),
      sizeCalculation: ({ answer }, address) =>
        answer.body.length + 2 * address.length + entryOverheadBytes,
    });
    for (const signal of committed) signal.listen(() => (this.#commits += 1));
  }

  get bytes(): number {
    return this.#entries.calculatedSize;
  }

  /** Answers given by `find`. */
  get found(): number {
    return this.#found;
  }

  /** To hand to `put` with an answer made from the store as it is now. */
  get commits(): number {
    return this.#commits;
  }

  /** Undefined also when something was committed since the answer was last checked. */
  find(address: string): ImageAnswer | undefined {
    const entry = this.#entries.get(address);
    if (entry === undefined || entry.commits !== this.#commits) return undefined;
    this.#found += 1;
    return entry.answer;
  }

  /** The answer that shows `version`, the code's present one. */
  check(address: string, version: string): ImageAnswer | undefined {
    const entry = this.#entries.get(address);
    if (entry === undefined || entry.version !== version) return undefined;
    entry.commits = this.#commits;
    return entry.answer;
  }

  put(address: string, version: string, commits: number, answer: ImageAnswer): void {
    this.#entries.set(address, { answer, version, commits });
  }
}
