/** The days of a demo: the content says how long before today something was in a demo of 90 days; in a shorter one that is nearer. UTC. */
import { dayMs, dayOf, formatDay } from '../../model/day.ts';

/** Of the demo that the content was written for. */
const standardCount = 90;

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
    const scaled = Math.round((Math.abs(daysBefore) * this.count) / standardCount);
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
