/**
 * The clock that due times refer to. It reads like the wall clock but never steps: while the machine runs it
 * follows the time since boot, across restarts of the service and changes of the wall clock; after a reboot it
 * continues from the later of the wall clock and its last stored mark, because the time that the machine was
 * off counts too. So a step of the wall clock by an hour or a year neither hastens nor delays a retry.
 *
 * Bound: a wall clock that is wrong at boot moves it forwards once (retries come early, none is lost),
 * never backwards.
 */
import type { Clock, SteadyClock } from '../../model/clock.ts';
import type { WheelMark } from '../../store/delivery/delivery.ts';
import { toWheelMs, type WheelMs } from '../../model/wheel-time.ts';

export class WheelClock {
  readonly #wall: Clock;
  readonly #steady: SteadyClock;
  readonly #originMs: number;

  /** @param mark the newest that was stored; undefined at the first start */
  constructor(wall: Clock, steady: SteadyClock, mark: WheelMark | undefined) {
    this.#wall = wall;
    this.#steady = steady;
    this.#originMs = startMs(wall, steady, mark) - steady.sinceBootMs();
  }

  /** Whole milliseconds, rounded down: what is due is never sent early. */
  now(): WheelMs {
    return toWheelMs(Math.floor(this.#originMs + this.#steady.sinceBootMs()));
  }

  /** Stored now and then: after a reboot the clock continues from the newest. */
  mark(): WheelMark {
    const sinceBootMs = this.#steady.sinceBootMs();
    return { wheelMs: this.#originMs + sinceBootMs, bootId: this.#steady.bootId, sinceBootMs };
  }

  /** Converts a time of this clock to the wall clock as it is now. */
  wallMs(wheelMs: WheelMs): number {
    return wheelMs - this.now() + this.#wall.now();
  }
}

function startMs(wall: Clock, steady: SteadyClock, mark: WheelMark | undefined): number {
  if (mark === undefined) return wall.now();
  if (mark.bootId === steady.bootId && steady.bootId !== '') {
    return mark.wheelMs + Math.max(0, steady.sinceBootMs() - mark.sinceBootMs);
  }
  return Math.max(wall.now(), mark.wheelMs);
}
