/**
 * A query in the pool's thread: reads slice by slice, says how far it is, and ends when it is not wanted any more. Between
 * slices others of the thread go on. The store is open while a query runs, and at no other time: a thread that ended with
 * an open snapshot would keep its pages for ever.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { openScanStore } from '../../../store/scans/scans.ts';
import type { PackedRawAnswer } from './packed-answer.ts';
import type { RawQuery } from './raw-query.ts';
import { walkRaw } from './raw-walk.ts';

export interface RawTask {
  /** scans.mdb. */
  readonly path: string;
  readonly query: RawQuery;
  readonly control: SharedArrayBuffer;
}

/** What both sides of a running query see. */
export class RawControl {
  readonly shared: SharedArrayBuffer;
  readonly #words: Int32Array;

  constructor(shared: SharedArrayBuffer = new SharedArrayBuffer(8)) {
    this.shared = shared;
    this.#words = new Int32Array(shared);
  }

  cancel(): void {
    Atomics.store(this.#words, 0, 1);
  }
  get isCancelled(): boolean {
    return Atomics.load(this.#words, 0) === 1;
  }
  /** 0 to 1. */
  get share(): number {
    return Atomics.load(this.#words, 1) / shareUnit;
  }
  set share(share: number) {
    Atomics.store(this.#words, 1, Math.floor(share * shareUnit));
  }
}

const shareUnit = 1_000_000;

/** Undefined = it was cancelled. */
export async function runRawTask(task: RawTask): Promise<PackedRawAnswer | undefined> {
  const control = new RawControl(task.control);
  const store = openScanStore(task.path, 'read');
  try {
    const walk = walkRaw(store, task.query);
    for (;;) {
      if (control.isCancelled) return undefined;
      const step = walk.next();
      if (step.done === true) return step.value;
      // A walk that begins again does not go back.
      control.share = Math.max(control.share, step.value);
      await yieldToEventLoop();
    }
  } finally {
    await store.environment.close();
  }
}
