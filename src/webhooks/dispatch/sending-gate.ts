/**
 * Whether attempts may start in a cluster. What a leader sends and cannot store is sent again by the next one, so it sends
 * for no longer than it knows that results are stored:
 *
 *   it holds its lease, and no result waits longer than `unstoredMsMax` for its commit
 *
 * A commit that does not come back is the first sign of brokers that are away or of a cut, up to 3 s before the lease ends.
 * So a lost lead repeats what was sent within about half a second, and what was in flight, and not three seconds of it. The
 * trade: where commits are that slow and succeed all the same, deliveries wait for them.
 */

/** A batch collects results for 200 ms; its commit is a round trip to the brokers. */
const unstoredMsMax = 500;

export interface SendingGateOptions {
  /** Undefined on a machine alone, whose commits do not wait for another one: always open. */
  readonly isHeld: (() => boolean) | undefined;
  /** How long the oldest result has waited; 0 = none does. */
  readonly unstoredMs: () => number;
  /** Called when it is found closed, once: threads have some attempts in advance. */
  readonly onClosed: () => void;
}

export class SendingGate {
  readonly #options: SendingGateOptions;
  #wasOpen = true;

  constructor(options: SendingGateOptions) {
    this.#options = options;
  }

  /** Read it before attempts start, and after each that ended: a commit, and a tick each second, look again. */
  get isOpen(): boolean {
    const { isHeld, unstoredMs, onClosed } = this.#options;
    if (isHeld === undefined) return true;
    const isOpen = isHeld() && unstoredMs() <= unstoredMsMax;
    const closes = this.#wasOpen && !isOpen;
    this.#wasOpen = isOpen;
    if (closes) onClosed();
    return isOpen;
  }
}
