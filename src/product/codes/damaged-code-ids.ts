/**
 * Finds the public id of a code with a damaged record, for its events: walks the whole of `code_ids`, which leads from ids
 * to numbers, once for each such code, at 1 us an id.
 */
import { LRUCache } from 'lru-cache';
import type { CodeNo } from '../../model/numbers.ts';
import type { Management } from '../../store/management/management.ts';

/** Damaged records of which an event is due; a folder with more needs a restore. */
const knownMax = 1_000;

export class DamagedCodeIds {
  readonly #store: Management;
  readonly #known = new LRUCache<CodeNo, { readonly id: string | undefined }>({ max: knownMax });

  constructor(store: Management) {
    this.#store = store;
  }

  find(codeNo: CodeNo): string | undefined {
    const known = this.#known.get(codeNo) ?? { id: this.#search(codeNo) };
    this.#known.set(codeNo, known);
    return known.id;
  }

  #search(codeNo: CodeNo): string | undefined {
    for (const { key, value } of this.#store.codeIds.range({}, () => undefined)) {
      if (value === codeNo) return key;
    }
    return undefined;
  }
}
