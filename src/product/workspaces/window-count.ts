/**
 * Fixed windows: requests are counted in the UTC minute and the UTC day they come in.
 *
 * A clock that steps back comes into a window that was counted before: its count is remembered for
 * the last few windows, so no step lets more than the limit into one window, and a clock that was a
 * year ahead for a while locks no client out afterwards.
 */
import { dayMs } from '../../model/day.ts';
import type { PlanLimits } from '../../model/workspace.ts';

const minuteMs = 60_000;
/** Earlier windows whose counts are remembered: a clock that goes back and forth visits two or three. */
const earlierMax = 4;

export type Counted = readonly [window: number, count: number];

export interface QuotaAnswer {
  readonly allowed: boolean;
  /** Of the window that binds: the minute, or the day when less is left of it. */
  readonly limit: number;
  readonly remaining: number;
  /** When that window ends: Unix epoch seconds. */
  readonly resetAtSeconds: number;
  /** Set when not allowed. */
  readonly code?: 'rate_limited' | 'daily_cap_reached';
  /** Set when not allowed: after so many seconds the window has ended. */
  readonly retryAfterSeconds?: number;
}

export class WindowCount {
  readonly #lengthMs: number;
  #window: number;
  #count: number;
  #earlier: Counted[];

  /** @param counted [window, count], newest first */
  constructor(lengthMs: number, counted: readonly Counted[] = []) {
    const [[window, count] = [-1, 0], ...earlier] = counted;
    this.#lengthMs = lengthMs;
    this.#window = window;
    this.#count = count;
    this.#earlier = earlier;
  }

  /** Moves to the window of `nowMs`. @returns its count so far */
  at(nowMs: number): number {
    const window = Math.floor(nowMs / this.#lengthMs);
    if (window !== this.#window) this.#move(window);
    return this.#count;
  }

  add(): void {
    this.#count++;
  }

  get endMs(): number {
    return (this.#window + 1) * this.#lengthMs;
  }

  get counted(): Counted[] {
    return [[this.#window, this.#count], ...this.#earlier];
  }

  #move(window: number): void {
    const left: Counted[] = this.#count === 0 ? [] : [[this.#window, this.#count]];
    const seen = this.#earlier.find(([earlier]) => earlier === window);
    const others = this.#earlier.filter(([earlier]) => earlier !== window);
    this.#earlier = [...left, ...others].slice(0, earlierMax);
    this.#window = window;
    this.#count = seen?.[1] ?? 0;
  }
}

/** The minute and the day of one workspace or one address. */
export class QuotaWindows {
  readonly minute: WindowCount;
  readonly day: WindowCount;

  constructor(minutes: readonly Counted[] = [], days: readonly Counted[] = []) {
    this.minute = new WindowCount(minuteMs, minutes);
    this.day = new WindowCount(dayMs, days);
  }

  /** What a request at `nowMs` would be answered; counts nothing. */
  peek(limits: PlanLimits, nowMs: number): QuotaAnswer {
    const minuteLeft = Math.max(0, limits.perMinute - this.minute.at(nowMs));
    const dayCount = this.day.at(nowMs);
    const dayLeft = limits.perDay === undefined ? Infinity : Math.max(0, limits.perDay - dayCount);
    const dayBinds = limits.perDay !== undefined && (dayLeft === 0 || dayLeft < minuteLeft);
    const window = dayBinds ? this.day : this.minute;
    const answer = {
      allowed: true,
      limit: dayBinds ? limits.perDay : limits.perMinute,
      remaining: Math.min(minuteLeft, dayLeft),
      resetAtSeconds: window.endMs / 1_000,
    };
    if (answer.remaining > 0) return answer;
    return {
      ...answer,
      allowed: false,
      code: dayBinds ? 'daily_cap_reached' : 'rate_limited',
      retryAfterSeconds: Math.max(1, Math.ceil((window.endMs - nowMs) / 1_000)),
    };
  }

  /** Counts the request when it is allowed; `remaining` is what is left after it. */
  take(limits: PlanLimits, nowMs: number): QuotaAnswer {
    if (!this.peek(limits, nowMs).allowed) return this.peek(limits, nowMs);
    this.minute.add();
    this.day.add();
    const after = this.peek(limits, nowMs);
    if (after.allowed) return after;
    const { code: _code, retryAfterSeconds: _seconds, ...last } = after;
    return { ...last, allowed: true };
  }
}
