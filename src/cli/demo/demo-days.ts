/** The days of a demo: told as before today in a demo of 90, and nearer together in a shorter one. UTC. */
import { dayMs, dayOf, formatDay } from '../../model/day.ts';

const told = 90;

export class DemoDays {
  /** How many, today included. */
  readonly count: number;
  /** The UTC day that it is made on. */
  readonly today: number;

  constructor(count: number, nowMs: number) {
    this.count = count;
    this.today = dayOf(nowMs);
  }

  /** The first with scans. */
  get first(): number {
    return this.today - this.count + 1;
  }

  /** @param daysBefore today; negative = to come */
  day(daysBefore: number): number {
    const scaled = Math.round((Math.abs(daysBefore) * this.count) / told);
    return this.today - Math.sign(daysBefore) * Math.max(1, scaled);
  }

  /** Its midnight. */
  startMs(daysBefore: number): number {
    return this.day(daysBefore) * dayMs;
  }

  /** `YYYY-MM-DD` */
  text(daysBefore: number): string {
    return formatDay(this.day(daysBefore));
  }
}
