/**
 * Whether a standby follows the machine that leads: where a change waits for one (`ack` is `standby`), a leader alone
 * answers no change at all. A standby reports with every entry that counts, also with each beat, so its silence shows within
 * seconds, before a change waits.
 *
 * One change is under way at a time, and the next one begins when a standby has it: so one that follows is level with the
 * leader again and again, under any load.
 */
import type { Timers } from '../../model/clock.ts';
import { type Applied, type AppliedReports, isBefore } from './applied-reports.ts';

/** Four beats. */
const silentMsMax = 2_000;

export interface StandbyWatchOptions {
  readonly reports: AppliedReports;
  readonly timers: Pick<Timers, 'monotonicMs'>;
  /** Of this machine. */
  readonly position: () => Applied;
  readonly isLeading: () => boolean;
  /** Absent = there is one. */
  readonly hasStandby?: (() => boolean) | undefined;
}

export class StandbyWatch implements AppliedReports {
  readonly #options: StandbyWatchOptions;
  /** When a standby was last level with this machine, or this machine was first seen to lead since it did not. */
  #levelMs: number | undefined;

  constructor(options: StandbyWatchOptions) {
    this.#options = options;
  }

  report(applied: Applied): void {
    this.#options.reports.report(applied);
  }

  listen(listener: (applied: Applied) => void): () => void {
    const { reports, timers, position } = this.#options;
    return reports.listen((applied) => {
      if (!isBefore(applied, position())) this.#levelMs = timers.monotonicMs();
      listener(applied);
    });
  }

  /** This machine begins to lead, or ends: what was before says nothing. */
  changed(): void {
    this.#levelMs = this.#options.isLeading() ? this.#options.timers.monotonicMs() : undefined;
  }

  /** Whether changes wait for a standby. */
  get isExpected(): boolean {
    return this.#options.hasStandby?.() ?? true;
  }

  /** For how long no standby has had all that this machine has; 0 where it does not lead, and where no other core has the data. */
  get silentMs(): number {
    const { isLeading, timers } = this.#options;
    if (this.#levelMs === undefined || !isLeading() || !this.isExpected) return 0;
    return timers.monotonicMs() - this.#levelMs;
  }

  /** A sentence for the operator. */
  get problem(): string | undefined {
    const { silentMs } = this;
    if (silentMs < silentMsMax) return undefined;
    const seconds = Math.floor(silentMs / 1_000);
    return `changes wait: no standby has applied the newest for ${seconds} s, and cluster.ack is standby`;
  }
}
