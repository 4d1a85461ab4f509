/** Virtual time, which passes only when nothing is left to do now: a run of a seed is the same every time. */
import type { Later } from '../log/memory-stream.ts';

interface Due {
  readonly atMs: number;
  /** Of two at the same moment the one that was asked for first runs first. */
  readonly order: number;
  run: (() => void) | undefined;
}

export class VirtualTime {
  /** A binary heap: the parent of `i` is at `(i - 1) >> 1`, and due before it. */
  readonly #heap: Due[] = [];
  #asked = 0;
  nowMs = 1_000;

  readonly later: Later = (ms, run) => {
    const due: Due = { atMs: this.nowMs + Math.max(0, ms), order: this.#asked++, run };
    this.#push(due);
    return () => {
      due.run = undefined;
    };
  };

  /** Until `untilMs`, or until `isDone`. After each event what it resolved runs to its end. */
  async run(untilMs: number, isDone = (): boolean => false): Promise<void> {
    for (let due = this.#heap[0]; due !== undefined && due.atMs <= untilMs; due = this.#heap[0]) {
      this.#pop();
      if (due.run === undefined) continue;
      this.nowMs = due.atMs;
      due.run();
      await settled();
      if (isDone()) return;
    }
    this.nowMs = untilMs;
  }

  /** Again and again until `untilMs`, after `ms` on average. @param random from 0 up to 1 */
  every(ms: number, untilMs: number, random: () => number, run: () => void): void {
    this.later(2 * ms * random(), () => {
      if (this.nowMs > untilMs) return;
      run();
      this.every(ms, untilMs, random, run);
    });
  }

  #push(due: Due): void {
    const heap = this.#heap;
    let at = heap.length;
    while (at > 0) {
      const parent = heap[(at - 1) >> 1]!;
      if (!isBefore(due, parent)) break;
      heap[at] = parent;
      at = (at - 1) >> 1;
    }
    heap[at] = due;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
  }
}

const isBefore = (one: Due, other: Due): boolean =>
  one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);

/** An immediate runs when no promise has anything left to do. */
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
