/**
 * Where the days of workspaces are cut: at the midnights of their time zones. A new zone applies from the next UTC day, so that
 * no started day is cut again. A day that started before the control thread sent the zones stays whole; queries in the zone
 * count it from raw scans (engine/analytics/range.ts).
 */
import type { WorkspaceNo } from '../../../model/numbers.ts';
import { calendarOf, midnightsIn } from '../../../model/zones/calendar.ts';

export interface WorkspaceZone {
  readonly workspaceNo: WorkspaceNo;
  /** IANA name. */
  readonly zone: string;
  /** The first UTC day cut in it. */
  readonly sinceDay: number;
  /** The zone of the days before. */
  readonly before: string;
}

const uncut: readonly number[] = [];

export class ZoneCuts {
  #zones = new Map<number, WorkspaceZone>();
  /** Cache of the last day. */
  #day = -1;
  #ofDay = new Map<string, readonly number[]>();

  constructor(zones: readonly WorkspaceZone[] = []) {
    this.set(zones);
  }

  /** Replaces all zones; workspaces without one have UTC. */
  set(zones: readonly WorkspaceZone[]): void {
    this.#zones = new Map(zones.map((zone) => [zone.workspaceNo, zone]));
  }

  /** @returns quarters of an hour of a UTC day at which a piece begins, ascending, without 0 */
  of(workspaceNo: WorkspaceNo, day: number): readonly number[] {
    const found = this.#zones.get(workspaceNo);
    if (found === undefined) return uncut;
    return this.#cutsOf(day < found.sinceDay ? found.before : found.zone, day);
  }

  #cutsOf(zone: string, day: number): readonly number[] {
    if (day !== this.#day) {
      this.#day = day;
      this.#ofDay.clear();
    }
    let cuts = this.#ofDay.get(zone);
    if (cuts === undefined) {
      const calendar = calendarOf(zone);
      cuts = calendar === undefined ? uncut : midnightsIn(calendar, day);
      this.#ofDay.set(zone, cuts);
    }
    return cuts;
  }
}
