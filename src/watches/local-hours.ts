/**
 * How many hours the clocks of a workspace's zone are ahead of UTC, hour by hour: an hour is compared with the same hour of
 * the week on those clocks. Where they change, a shop opens an hour earlier or later in UTC.
 * The changes of a zone are found once a day, 3 ms; half hours count as the whole hour before.
 */
import { LRUCache } from 'lru-cache';
import { dayMs, dayOf } from '../model/day.ts';
import { zoneOffset } from '../model/zones/zone-offsets.ts';
import { historyMs, hourMs } from './gaps.ts';

const zonesKept = 500;
const minutesPerHour = 60;

/** From this time on, so many minutes. */
type Change = readonly [fromMs: number, minutes: number];

interface Known {
  readonly day: number;
  /** Newest first. */
  readonly changes: readonly Change[];
}

export class LocalHours {
  readonly #zones = new LRUCache<string, Known>({ max: zonesKept });

  /** @param zone an IANA name; undefined, and one that is unknown here, is UTC @returns of an hour since the epoch */
  offsetsOf(zone: string | undefined, nowMs: number): (hour: number) => number {
    if (zone === undefined) return () => 0;
    const day = dayOf(nowMs);
    let known = this.#zones.get(zone);
    if (known?.day !== day) {
      known = { day, changes: changesOf(zone, (day + 1) * dayMs) };
      this.#zones.set(zone, known);
    }
    const { changes } = known;
    return (hour) => {
      const minutes = changes.find(([fromMs]) => fromMs <= hour * hourMs)?.[1];
      return Math.floor((minutes ?? changes.at(-1)?.[1] ?? 0) / minutesPerHour);
    };
  }
}

function changesOf(zone: string, untilMs: number): Change[] {
  const changes: Change[] = [];
  let atMs = untilMs - historyMs - 2 * dayMs;
  for (;;) {
    const offset = zoneOffset(zone, atMs, untilMs);
    if (offset === undefined) return changes;
    changes.unshift([atMs, offset.minutes]);
    if (offset.changesAtMs === undefined) return changes;
    atMs = offset.changesAtMs;
  }
}
