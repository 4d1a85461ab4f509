/**
 * How far this core had applied its logs ten minutes ago. Nothing newer may be removed from the brokers on its word: a machine
 * that loses power loses what it had not flushed, and applies it once more.
 *
 * By this process alone: one that begins knows nothing for its first ten minutes. What it finds at its start it may have
 * applied a second before, and it may lose power a second later.
 */

/** LMDB flushes each transaction; the rest of the time is for disks that say so before they have done it. */
const heldMs = 600_000;
/** Between two that are remembered: 61 at most. */
const noteMs = 10_000;

/** Of each log the newest entry that is applied: CORE, DELIVERY. */
export type AppliedSeqs = readonly [core: number, delivery: number];

export class AppliedHistory {
  readonly #heldMs: number;
  readonly #noteMs: number;
  /** The oldest first: it counts as soon as it is old enough. */
  readonly #noted: Array<{ readonly atMs: number; readonly applied: AppliedSeqs }> = [];

  constructor(times: { readonly heldMs: number; readonly noteMs: number } = { heldMs, noteMs }) {
    this.#heldMs = times.heldMs;
    this.#noteMs = times.noteMs;
  }

  /**
   * @param applied now
   * @returns what was applied ten minutes ago; undefined where this is not known
   */
  held(applied: AppliedSeqs, nowMs: number): AppliedSeqs | undefined {
    const noted = this.#noted;
    const newest = noted.at(-1);
    if (newest === undefined || nowMs - newest.atMs >= this.#noteMs) {
      noted.push({ atMs: nowMs, applied });
    }
    const isHeld = (at: number): boolean => nowMs - (noted[at]?.atMs ?? Infinity) >= this.#heldMs;
    while (isHeld(1)) noted.shift();
    return isHeld(0) ? noted[0]?.applied : undefined;
  }
}
