/**
 * The clocks of time zones, for the programs of all links: the arena has a cell per zone.
 *
 *   word 0   minutes ahead of UTC before the change
 *        1   the minute of the change, since the epoch
 *        2   minutes ahead from then on
 *
 * A change is written at least a day before it happens, word by word in this order, so a reader that sees part of the
 * update still reads the right time. A redirect reads three words, and no timer has to be exact. Cells are never freed:
 * the runtime knows some 600 zones. Names are compared without case.
 */
import { hourMs, minuteMs } from '../../model/day.ts';
import { type ZoneOffset, zoneOffset } from '../../model/zones/zone-offsets.ts';
import type { Arena } from './arena.ts';
import { wordOf } from './finder.ts';

const cellUnits = 2;
/** How far ahead changes are looked up, and how long before that they are looked up again. */
const horizonMs = 48 * hourMs;
const renewBeforeMs = 24 * hourMs;
/** Zones renewed per call: about 1 ms. */
const zonesAtOnce = 10;

interface ZoneCell {
  /** Unit offset in the arena; 0 for a zone that this runtime does not know. */
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

  constructor(arena: Arena, now: () => number) {
    this.#arena = arena;
    this.#now = now;
  }

  /** Of an unknown zone 0: its time windows never match. @throws Failure `storage_full` */
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

  /** Looks up coming changes, and all of them after the wall clock was set back. Call it many times a day. */
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

/** Local minutes since the epoch. @param at index of the cell in `words` */
export function localMinutesOf(words: Int32Array, at: number, nowMs: number): number {
  const minute = Math.floor(nowMs / minuteMs);
  // In reverse order of the stores: a partial update is read either completely or without effect.
  const after = words[at + 2]!;
  const change = words[at + 1]!;
  return minute + (minute < change ? words[at]! : after);
}
