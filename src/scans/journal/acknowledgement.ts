/**
 * What a redirect thread has journaled and the brokers have not acknowledged yet: `replicated` answers are held until
 * their scans are in more places than this machine.
 *
 *   redirect thread   journal.append ─▶ hold(position) ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄▶ answer
 *                          │ tail                                        ▲ acknowledged
 *   the sending thread     └──────────▶ sends the journal's bytes ───────┘
 *
 * Both positions are shared memory: no message passes, and one sleep of the thread serves all that is held. What is not
 * acknowledged in time is answered all the same, for a redirect must not depend on brokers, and counted.
 */
import type { Clock } from '../../model/clock.ts';
import type { JournalPositions } from './positions.ts';

/** A broker's election takes longer, and a visitor does not wait for one. */
const heldMsMax = 1_000;

export interface AcknowledgementOptions {
  readonly journal: number;
  readonly acknowledged: JournalPositions;
  readonly clock: Clock;
}

interface Held {
  readonly position: number;
  readonly scans: number;
  readonly untilMs: number;
  readonly answer: () => void;
}

export class Acknowledgement {
  readonly #options: AcknowledgementOptions;
  /** Positions and times ascend. */
  #held: Held[] = [];
  #timer: NodeJS.Timeout | undefined;
  /** Answered although they were not acknowledged. */
  unreplicatedScans = 0;

  constructor(options: AcknowledgementOptions) {
    this.#options = options;
  }

  /** Calls `answer` once the journal is acknowledged up to `position`, or is not in time; in the order of calls. */
  hold(position: number, scans: number, answer: () => void): void {
    const untilMs = this.#options.clock.monotonicMs() + heldMsMax;
    this.#held.push({ position, scans, untilMs, answer });
    if (this.#held.length === 1) this.#sleep();
    if (this.#timer === undefined) this.#timer = setTimeout(this.#expire, heldMsMax);
  }

  readonly #wake = (): void => {
    this.#release();
    this.#sleep();
  };

  /** Until the oldest is acknowledged. Woken by any journal's acknowledgement, so mostly once for many. */
  #sleep(): void {
    const { acknowledged } = this.#options;
    const isNextThere = (): boolean => this.#held[0]!.position <= this.#position;
    while (this.#held.length > 0 && !acknowledged.sleep(isNextThere, this.#wake)) this.#release();
  }

  get #position(): number {
    return this.#options.acknowledged.position(this.#options.journal);
  }

  #release(): void {
    const position = this.#position;
    this.#answer((held) => held.position <= position);
  }

  readonly #expire = (): void => {
    this.#release();
    const nowMs = this.#options.clock.monotonicMs();
    for (const { scans } of this.#answer((held) => held.untilMs <= nowMs)) {
      this.unreplicatedScans += scans;
    }
    const oldest = this.#held[0];
    this.#timer = oldest && setTimeout(this.#expire, Math.max(1, oldest.untilMs - nowMs));
  };

  /** @returns what was answered: the oldest, as long as `isOver` */
  #answer(isOver: (held: Held) => boolean): readonly Held[] {
    const count = this.#held.findIndex((held) => !isOver(held));
    const over = this.#held.splice(0, count === -1 ? this.#held.length : count);
    for (const { answer } of over) answer();
    return over;
  }
}
