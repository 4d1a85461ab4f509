/**
 * Silence and spikes, from the scans of an hour to the event: when they are emitted, when not, and when they are over; and
 * whether the service was there to count: what a restart, a stop and a clock that steps leave of an hour.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dayMs, dayOf, formatDay, isoTime } from '../../../src/model/day.ts';
import type { RunningRecord } from '../../../src/model/watches/watch.ts';
import { nextRecord, observedFrom, wasDown } from '../../../src/product/watches/running.ts';
import { timersOf } from '../../store/timers.ts';
import { hourMs, noonMs, openWatchesFixture, type WatchesFixture } from './watches-fixture.ts';

const weekMs = 7 * dayMs;

/** A code with two scans an hour until now, watched; the service has been seen running. */
async function openBusy(draft: object, more: { weeks?: number } = {}) {
  const fixture = await openWatchesFixture();
  const code = await fixture.code(more.weeks);
  fixture.scans.steady(code.no, noonMs - 8 * weekMs, noonMs, 2);
  const id = await fixture.watch({ subject: { kind: 'code', id: code.id }, ...draft });
  await fixture.evaluate();
  return { fixture, code, id };
}

const stateOf = (fixture: WatchesFixture, id: string) => fixture.app.watches.watches.findingsOf(id);
const incidents = (fixture: WatchesFixture) =>
  fixture.app.watches.incidents.page(1, { limit: 100, isOpen: false }, () => true).data;

/** Hour by hour. */
async function hours(fixture: WatchesFixture, count: number): Promise<void> {
  for (let hour = 0; hour < count; hour++) await fixture.pass(hourMs);
}

describe('silence', () => {
  test('is emitted once after its hours, ends with a scan, and is emitted again the next time', async () => {
    const { fixture, code, id } = await openBusy({ silentHours: 6 });
    await hours(fixture, 6);
    expect(fixture.emitted('qr.silent')).toEqual([]);
    await hours(fixture, 12);
    const [incident] = incidents(fixture);
    expect(fixture.emitted('qr.silent')).toEqual([
      {
        watchId: id,
        incidentId: incident?.id,
        qrCodeId: code.id,
        campaignId: null,
        name: 'Poster',
        since: isoTime(noonMs),
        hours: 6,
        expectedScans: 12,
        scans: 0,
      },
    ]);
    expect(stateOf(fixture, id).silent).toEqual({ incidentId: incident?.id, sinceMs: noonMs });
    fixture.scans.add(code.no, fixture.app.clock.now(), 1);
    await fixture.pass(300_000);
    expect(stateOf(fixture, id).silent).toBeUndefined();
    expect(incidents(fixture)).toMatchObject([
      { endedAtMs: fixture.app.clock.now(), endedBy: 'recovered' },
    ]);
    await hours(fixture, 9);
    expect(fixture.emitted('qr.silent').length).toBe(2);
  });

  test('a stop of the service tells nobody, and its hours are none of the silence', async () => {
    const { fixture, code } = await openBusy({ silentHours: 6 });
    fixture.app.clock.move(48 * hourMs);
    await fixture.evaluate();
    await hours(fixture, 6);
    expect(fixture.emitted('qr.silent')).toEqual([]);
    await hours(fixture, 2);
    expect(fixture.emitted('qr.silent')).toMatchObject([{ hours: 6 }]);
    expect(fixture.app.codes.find(1, code.id)).toBeDefined();
  });

  test('nothing is told while counting lags, or while redirects are not well', async () => {
    const { fixture } = await openBusy({ silentHours: 6 });
    fixture.counting.isPrompt = false;
    await hours(fixture, 12);
    expect(fixture.emitted('qr.silent')).toEqual([]);
    expect(fixture.app.watches.scheduler.behindMs).toBeGreaterThan(10 * hourMs);
    fixture.counting.isPrompt = true;
    await fixture.evaluate();
    expect(fixture.emitted('qr.silent').length).toBe(1);
  });

  test('a code younger than two weeks is not missed', async () => {
    const { fixture, id } = await openBusy({ silentHours: 6 }, { weeks: 1 });
    await hours(fixture, 12);
    expect(stateOf(fixture, id).idle?.reason).toBe('learning');
    expect(fixture.emitted('qr.silent')).toEqual([]);
  });

  test('of a paused code is expected: it ends the incident, and begins anew after it', async () => {
    const { fixture, code, id } = await openBusy({ silentHours: 6 });
    await hours(fixture, 8);
    await fixture.app.codes.change(fixture.actor, code.id, { paused: true });
    await hours(fixture, 30);
    expect(stateOf(fixture, id).idle?.reason).toBe('inactive');
    expect(incidents(fixture)).toMatchObject([{ endedBy: 'not_expected' }]);
    await fixture.app.codes.change(fixture.actor, code.id, { paused: false });
    await fixture.pass(hourMs);
    expect(stateOf(fixture, id)).toMatchObject({
      gaps: [[expect.any(Number), expect.any(Number)]],
    });
    fixture.scans.add(code.no, fixture.app.clock.now(), 1);
    await hours(fixture, 4);
    expect(fixture.emitted('qr.silent').length).toBe(1);
    await hours(fixture, 5);
    expect(fixture.emitted('qr.silent').length).toBe(2);
  });

  test('of a campaign is that of its codes together, while it is active', async () => {
    const fixture = await openWatchesFixture();
    const [one, two] = [await fixture.code(), await fixture.code()];
    fixture.scans.steady(one.no, noonMs - 8 * weekMs, noonMs, 1);
    fixture.scans.steady(two.no, noonMs - 8 * weekMs, noonMs + 8 * hourMs, 1);
    const { campaigns } = fixture.app.campaigns;
    const today = dayOf(noonMs);
    const span = { startDay: today - 30, endDay: today + 1 };
    const { id } = await campaigns.create(fixture.actor, {
      name: 'Spring',
      ...span,
      qrCodeIds: [one.id, two.id],
    });
    const watch = await fixture.watch({ subject: { kind: 'campaign', id }, silentHours: 6 });
    await fixture.evaluate();
    await hours(fixture, 10);
    expect(fixture.emitted('qr.silent')).toEqual([]);
    await hours(fixture, 6);
    const told = { campaignId: id, qrCodeId: null, name: 'Spring', expectedScans: 12 };
    expect(fixture.emitted('qr.silent')).toMatchObject([told]);
    expect(formatDay(today + 2)).toBe('2026-03-06');
    await hours(fixture, 48);
    expect(stateOf(fixture, watch)).toMatchObject({ idle: { reason: 'inactive' } });
    expect(incidents(fixture)).toMatchObject([{ endedBy: 'not_expected' }]);
  });

  test('of the workspace is that of all its codes', async () => {
    const fixture = await openWatchesFixture();
    const { no } = await fixture.code();
    fixture.scans.steady(no, noonMs - 8 * weekMs, noonMs, 3);
    await fixture.watch({ silentHours: 3 });
    await fixture.evaluate();
    await hours(fixture, 5);
    expect(fixture.emitted('qr.silent')).toMatchObject([
      { qrCodeId: null, campaignId: null, hours: 3 },
    ]);
  });
});

test('spikes are emitted once, end with a usual hour, and of before the watch are passed over', async () => {
  const fixture = await openWatchesFixture();
  const { id: code, no } = await fixture.code();
  fixture.scans.steady(no, noonMs - 8 * weekMs, noonMs + 48 * hourMs, 10);
  fixture.scans.add(no, noonMs - hourMs, 500);
  await fixture.watch({ subject: { kind: 'code', id: code }, spikeFactor: 4 });
  await fixture.evaluate();
  expect(fixture.emitted('qr.spiked')).toEqual([]);
  fixture.scans.add(no, noonMs + hourMs, 90);
  fixture.scans.add(no, noonMs + 2 * hourMs, 15);
  fixture.scans.add(no, noonMs + 3 * hourMs, 90);
  await hours(fixture, 5);
  const since = isoTime(noonMs + hourMs);
  expect(fixture.emitted('qr.spiked')).toMatchObject([{ since, scans: 100, expectedScans: 10 }]);
  expect(incidents(fixture)).toMatchObject([{ kind: 'spiking', sinceMs: noonMs + hourMs }]);
  await hours(fixture, 2);
  expect(incidents(fixture)).toMatchObject([{ endedBy: 'recovered' }]);
  fixture.scans.add(no, noonMs + 10 * hourMs, 90);
  await hours(fixture, 6);
  expect(fixture.emitted('qr.spiked').length).toBe(2);
});

test('a watch whose code is deleted goes, and its incident ends', async () => {
  const { fixture, code, id } = await openBusy({ silentHours: 6 });
  await hours(fixture, 8);
  await fixture.app.codes.delete(fixture.actor, code.id);
  await fixture.pass(hourMs);
  expect(fixture.app.watches.watches.find(1, id)).toBeUndefined();
  expect(incidents(fixture)).toMatchObject([{ endedBy: 'deleted' }]);
  expect(timersOf(fixture.app.store.watches.scansDue)).toEqual([]);
});

test('a clock that is set back a year moves the timers', async () => {
  const { fixture, id } = await openBusy({ silentHours: 6 });
  fixture.app.clock.step(365 * dayMs);
  await fixture.evaluate();
  fixture.app.clock.step(-365 * dayMs);
  await fixture.evaluate();
  const { scansCheckedAtMs } = stateOf(fixture, id);
  const dueMs = fixture.app.store.watches.scansDue.at(id) ?? 0;
  expect(dueMs - fixture.app.clock.now()).toBeLessThanOrEqual(hourMs + 600_000);
  expect(scansCheckedAtMs).toBe(fixture.app.clock.now());
  await hours(fixture, 8);
  expect(fixture.emitted('qr.silent').length).toBe(1);
});

const minuteMs = 60_000;
const record = { sinceMs: noonMs, lastMs: noonMs, gaps: [] } satisfies RunningRecord;

describe('the record of when the service ran', () => {
  test('goes on over a restart of three minutes, and has a gap for a longer one', () => {
    expect(nextRecord(record, noonMs + minuteMs - 1)).toBeUndefined();
    expect(nextRecord(record, noonMs + 3 * minuteMs)).toEqual({
      ...record,
      lastMs: noonMs + 3 * minuteMs,
    });
    const backMs = noonMs + 2 * hourMs + 1;
    const after = nextRecord(record, backMs);
    expect(after).toEqual({ sinceMs: noonMs, lastMs: backMs, gaps: [[noonMs, backMs]] });
    const hour = noonMs / hourMs;
    const down = [hour - 1, hour, hour + 1, hour + 2, hour + 3].map((at) => wasDown(after!, at));
    expect(down).toEqual([false, true, true, true, false]);
    expect(observedFrom({ ...record, sinceMs: noonMs + 1 })).toBe(hour + 1);
  });

  test('a clock that is set back begins again, and leaves out what it said of the time to come', () => {
    const gap = [noonMs - 3 * hourMs, noonMs - hourMs] as const;
    const nowMs = noonMs - 2 * hourMs;
    expect(nextRecord({ ...record, gaps: [gap] }, nowMs)).toEqual({
      sinceMs: nowMs,
      lastMs: nowMs,
      gaps: [[gap[0], nowMs]],
    });
  });

  test('however it was stopped, no time without it counts as running, and it is bounded', () => {
    const pauses = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 400 });
    fc.assert(
      fc.property(pauses, (minutes) => {
        let now: RunningRecord = record;
        let nowMs = noonMs;
        const down: Array<readonly [number, number]> = [];
        for (const pause of minutes) {
          const lastMs = now.lastMs;
          nowMs += pause * minuteMs;
          now = nextRecord(now, nowMs) ?? now;
          if (nowMs - lastMs > 3 * minuteMs) down.push([lastMs, nowMs]);
        }
        expect(now.gaps.length).toBeLessThanOrEqual(200);
        for (const [fromMs, toMs] of down) {
          expect(now.gaps.some(([from, to]) => from <= fromMs && to >= toMs)).toBe(true);
        }
      }),
      { numRuns: 50 },
    );
  });
});

test('it is kept while there is a watch, and while scans are counted', async () => {
  const fixture = await openWatchesFixture();
  const { app } = fixture;
  const running = () => app.store.watches.running.get('service');
  await fixture.evaluate();
  expect(running()).toBeUndefined();
  const id = await fixture.watch({ silentHours: 6 });
  await fixture.evaluate();
  expect(running()).toEqual({ sinceMs: noonMs, lastMs: noonMs, gaps: [] });
  app.health = { ready: false, checks: [] };
  app.clock.move(10 * minuteMs);
  await fixture.evaluate();
  expect(running()?.lastMs).toBe(noonMs);
  app.health = { ready: true, checks: [] };
  await fixture.evaluate();
  expect(running()?.gaps).toEqual([[noonMs, noonMs + 10 * minuteMs]]);
  await app.watches.watches.delete(fixture.actor, id);
  await fixture.evaluate();
  expect(running()).toBeUndefined();
});
