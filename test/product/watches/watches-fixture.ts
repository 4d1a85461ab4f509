/** The application with watches: scans by the hour as a test wants them, requests to targets as a test answers them. */
import type { Counting } from '../../../src/product/campaigns/campaign-scheduler.ts';
import { type DayRange, dayMs, isoTime } from '../../../src/model/day.ts';
import type { EventKind } from '../../../src/model/event.ts';
import type { Subject } from '../../../src/engine/analytics/subject.ts';
import type { WatchDraft } from '../../../src/product/watches/watches.ts';
import { FakeScans } from '../../support/fakes/fake-scans.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';
import { openTestApp, type TestApp } from '../../support/test-app.ts';
import type { TestAppOptions } from '../../support/test-app-options.ts';

export const hourMs = 3_600_000;
/** A Wednesday at noon; codes are older. */
export const noonMs = Date.UTC(2026, 2, 4, 12);

/** Scans of codes, by hour since the epoch. */
class HourScans extends FakeScans {
  readonly hours = new Map<number, Map<number, number>>();

  constructor() {
    super();
    Object.assign(this.analytics, {
      series: async (subject: Subject, range: DayRange) => this.#series(subject, range),
    });
  }

  add(codeNo: number, atMs: number, scans: number): void {
    const hours = this.hours.get(codeNo) ?? new Map<number, number>();
    this.hours.set(codeNo, hours);
    const hour = Math.floor(atMs / hourMs);
    hours.set(hour, (hours.get(hour) ?? 0) + scans);
  }

  /** Every hour of a span. */
  steady(codeNo: number, fromMs: number, toMs: number, scans: number): void {
    for (let atMs = fromMs; atMs < toMs; atMs += hourMs) this.add(codeNo, atMs, scans);
  }

  #series(subject: Subject, { fromDay, toDay }: DayRange) {
    const codes =
      'codes' in subject
        ? [...subject.codes]
        : 'code' in subject
          ? [subject.code]
          : [...this.hours.keys()];
    return Array.from({ length: (toDay - fromDay + 1) * 24 }, (_, at) => {
      const hour = fromDay * 24 + at;
      const scans = codes.reduce((sum, no) => sum + (this.hours.get(no)?.get(hour) ?? 0), 0);
      return { start: isoTime(hour * hourMs), scans };
    });
  }
}

export type WatchesFixture = Awaited<ReturnType<typeof openWatchesFixture>>;

export async function openWatchesFixture(options: TestAppOptions = {}) {
  const scans = new HourScans();
  const counting = { isPrompt: true, mark: () => ({ isPast: () => counting.isPrompt }) };
  // The workspace is older than what its watches look back to.
  const clock = new TestClock(noonMs - 10 * 7 * dayMs);
  let app = await openTestApp({
    clock,
    counting: counting satisfies Counting,
    scans,
    ...options,
  });
  clock.set(noonMs);
  const { actor } = app;
  /** Looks until what was counted by now is known, and requests have ended. */
  const evaluate = async (): Promise<void> => {
    const { scheduler } = app.watches;
    for (let tick = 0; tick < 3; tick++) {
      await scheduler.tick();
      await scheduler.settled();
    }
  };
  return {
    /** Another after `restart`. */
    get app(): TestApp {
      return app;
    },
    actor,
    scans,
    counting,
    evaluate,
    /** A dynamic code that is `weeks` old; its id and number. */
    async code(weeks = 10, target = 'https://example.com/') {
      const nowMs = clock.now();
      clock.set(nowMs - weeks * 7 * dayMs);
      const { id, no } = await app.codes.create(actor, { target, name: 'Poster' });
      clock.set(nowMs);
      return { id, no };
    },
    async watch(draft: Partial<WatchDraft>): Promise<string> {
      const subject = draft.subject ?? { kind: 'workspace' };
      const rules = { target: false, ...draft, subject };
      return (await app.watches.watches.create(actor, rules)).id;
    },
    /** Time passes while the service is running; then everything due is looked at. */
    async pass(ms: number): Promise<void> {
      clock.move(ms);
      const { environment, watches } = app.store;
      await environment.transaction(() => {
        const record = watches.running.get('service');
        if (record !== undefined) {
          watches.running.put('service', { ...record, lastMs: clock.now() });
        }
      });
      await evaluate();
    },
    /** Data of the emitted events of a kind, oldest first. */
    emitted: (kind: EventKind) => dataOf(app, kind),
    async restart(changed: TestAppOptions = {}): Promise<void> {
      app = await app.restart(changed);
    },
  };
}

/** Data of the events of a kind in the outbox, oldest first. */
export function dataOf(
  { outbox }: TestApp,
  wanted: EventKind,
): Array<Readonly<Record<string, unknown>>> {
  const events = outbox.after(0, 10_000).filter(({ kind }) => kind === wanted);
  return events.map(({ body }) => JSON.parse(body).data);
}
