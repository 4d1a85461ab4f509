/**
 * The clocks of time zones, for the programs of all links: a cell in the arena for each zone that is named.
 *
 *   word 0   minutes ahead of UTC before the change
 *        1   the minute of the change, since the epoch
 *        2   minutes ahead from then on
 *
 * Changes are known a day and more before they come, and the words are stored in their order: whatever a reader sees of
 * a new change, the time it reads is right. So a redirect reads three words, and nothing has to happen on time. Cells are
 * never freed: there are as many as zones were named, at most some hundred.
 */
import { zoneOffset } from '../routes/zone-offsets.ts';
import type { Arena } from './arena.ts';
import { wordOf } from './finder.ts';

const cellUnits = 2;
const minuteMs = 60_000;
const hourMs = 3_600_000;
/** How far changes are looked for, and when that is done again. */
const horizonMs = 48 * hourMs;
const renewBeforeMs = 24 * hourMs;
/** Zones looked at in one go: about 1 ms. */
const zonesAtOnce = 10;

interface ZoneCell {
  readonly cell: number;
  knownUntilMs: number;
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

  /** Unit offset of a zone's cell, whatever its case. @throws Failure `storage_full` */
  cellOf(name: string): number {
    // Names of zones have no case: with one each spelling would be a zone.
    const zone = name.toLowerCase();
    const known = this.#cells.get(zone);
    if (known !== undefined) return known.cell;
    const cell = this.#arena.allocate(cellUnits);
    const made = { cell, knownUntilMs: 0 };
    this.#renew(zone, made);
    this.#cells.set(zone, made);
    return cell;
  }

  /** Looks for changes that are coming. To be called many times a day. */
  renew(): void {
    const nowMs = this.#now();
    let left = zonesAtOnce;
    for (const [zone, cell] of this.#cells) {
      if (cell.knownUntilMs - nowMs >= renewBeforeMs) continue;
      this.#renew(zone, cell);
      if (--left === 0) return;
    }
  }

  #renew(zone: string, cell: ZoneCell): void {
    const nowMs = this.#now();
    const { minutes, changesAtMs, minutesAfter } = zoneOffset(zone, nowMs, nowMs + horizonMs);
    const words = this.#arena.chunkOf(cell.cell);
    const at = wordOf(cell.cell);
    Atomics.store(words, at, minutes);
    Atomics.store(words, at + 1, changesAtMs === undefined ? 0 : changesAtMs / minuteMs);
    Atomics.store(words, at + 2, minutesAfter);
    cell.knownUntilMs = nowMs + horizonMs;
  }
}

/** Minutes since the epoch on a zone's clocks. @param at of the cell in `words` */
export function localMinutesOf(words: Int32Array, at: number, nowMs: number): number {
  const minute = Math.floor(nowMs / minuteMs);
  return minute + (minute < words[at + 1]! ? words[at]! : words[at + 2]!);
}
