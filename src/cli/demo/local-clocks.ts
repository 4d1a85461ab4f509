/** The clocks of time zones, asked of the runtime twice for each day of the demo's time: a question takes 100 µs. */
import { dayMs, dayOf } from '../../model/day.ts';
import { localMinutes } from '../../model/zones/zone-offsets.ts';

const minuteMs = 60_000;

interface KnownDay {
  readonly day: number;
  /** Undefined on a day on which they change. */
  readonly aheadMinutes: number | undefined;
}

export class LocalClocks {
  /** By zone, the day that was asked for last. */
  readonly #known = new Map<string, KnownDay>();

  /** Minutes since the epoch, by the clock of a zone. */
  minutes(zone: string, timeMs: number): number {
    const day = dayOf(timeMs);
    let known = this.#known.get(zone);
    if (known?.day !== day) {
      known = { day, aheadMinutes: aheadOn(zone, day) };
      this.#known.set(zone, known);
    }
    const { aheadMinutes } = known;
    return aheadMinutes === undefined
      ? localMinutes(zone, timeMs)
      : Math.floor(timeMs / minuteMs) + aheadMinutes;
  }
}

function aheadOn(zone: string, day: number): number | undefined {
  const atMs = (timeMs: number): number => localMinutes(zone, timeMs) - timeMs / minuteMs;
  const aheadMinutes = atMs(day * dayMs);
  return atMs((day + 1) * dayMs) === aheadMinutes ? aheadMinutes : undefined;
}
