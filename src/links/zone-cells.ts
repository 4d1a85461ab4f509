/**
 * The clocks of time zones, for the programs of all links: a cell in the arena for each zone that is named.
 *
 *   word 0   minutes ahead of UTC before the change
 *        1   the minute of the change, since the epoch
 *        2   minutes ahead from then on
 *
 * Changes are known a day and more before they come, and the words are stored in their order: whatever a reader sees of
 * a new change, the time it reads is right. So a redirect reads three words, and nothing has to happen on time. A wall
 * clock that is set back is looked up anew, too. Cells are never freed: there is one for each zone that was ever named, and
 * the runtime knows some 600 names. They are compared without case, as the runtime does.
 */
import { hourMs, minuteMs } from '../model/day.ts';
import { type ZoneOffset, zoneOffset } from '../model/zones/zone-offsets.ts';
import type { Arena } from './arena.ts';
import { wordOf } from './finder.ts';

const cellUnits = 2;
/** How far changes are looked for, and when that is done again. */
const horizonMs = 48 * hourMs;
const renewBeforeMs = 24 * hourMs;
/** Zones looked at in one go: about 1 ms. */
const zonesAtOnce = 10;

interface ZoneCell {
  /** Its unit offset; 0 of a zone that this runtime does not know. */
  readonly cell: number;
  knownFromMs: number;
  knownUntilMs: number;
}

interface KnownOffset extends ZoneOffset {
  readonly nowMs: number;
}

export class ZoneCells {
  readonly #arena: Arena;
  readonly #now: () => number;
  readonly #cells = new Map<string, ZoneCell>();

  /** @param now epoch ms */
  constructor(arena: Arena, now: () => number) {
    this.#arena = arena;
    this.#now = now;
  }

  /**
   * Unit offset of a zone's cell; 0 where this runtime does not know the zone: no time is within a window then.
   * @throws Failure `storage_full`
   */
  cellOf(name: string): number {
    const zone = name.toLowerCase();
    const known = this.#cells.get(zone);
    if (known !== undefined) return known.cell;
    const offset = this.#offset(zone);
    const cell = offset === undefined ? 0 : this.#arena.allocate(cellUnits);
    const made = { cell, knownFromMs: -Infinity, knownUntilMs: Infinity };
    if (offset !== undefined) this.#show(made, offset);
    this.#cells.set(zone, made);
    return cell;
  }

  /** Looks for changes that are coming. To be called many times a day. */
  renew(): void {
    const nowMs = this.#now();
    let left = zonesAtOnce;
    for (const [zone, cell] of this.#cells) {
      const isKnown = nowMs >= cell.knownFromMs && cell.knownUntilMs - nowMs >= renewBeforeMs;
      if (isKnown) continue;
      const offset = this.#offset(zone);
      if (offset !== undefined) this.#show(cell, offset);
      if (--left === 0) return;
    }
  }

  #offset(zone: string): KnownOffset | undefined {
    const nowMs = this.#now();
    const offset = zoneOffset(zone, nowMs, nowMs + horizonMs);
    return offset && { nowMs, ...offset };
  }

  #show(cell: ZoneCell, { nowMs, minutes, changesAtMs, minutesAfter }: KnownOffset): void {
    const words = this.#arena.chunkOf(cell.cell);
    const at = wordOf(cell.cell);
    Atomics.store(words, at, minutes);
    Atomics.store(words, at + 1, changesAtMs === undefined ? 0 : changesAtMs / minuteMs);
    Atomics.store(words, at + 2, minutesAfter);
    cell.knownFromMs = nowMs;
    cell.knownUntilMs = nowMs + horizonMs;
  }
}

/** Minutes since the epoch on a zone's clocks. @param at of the cell in `words` */
export function localMinutesOf(words: Int32Array, at: number, nowMs: number): number {
  const minute = Math.floor(nowMs / minuteMs);
  // Against the order of the stores: a renewal in their midst is seen whole, or up to where it does not matter.
  const after = words[at + 2]!;
  const change = words[at + 1]!;
  return minute + (minute < change ? words[at]! : after);
}
