/**
 * The end of campaigns: once, in time, with final totals, whatever the clock and the process do; one by the engine itself,
 * against a plain count of the scans.
 */
import { getRandomValues } from 'node:crypto';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, onTestFinished, test, vi } from 'vitest';
import { CampaignScheduler } from '../../../src/product/campaigns/campaign-scheduler.ts';
import { openCampaigns } from '../../../src/product/campaigns/open-campaigns.ts';
import type { CampaignRecord } from '../../../src/model/campaign.ts';
import { dayMs } from '../../../src/model/day.ts';
import { Failure } from '../../../src/model/failure.ts';
import { createIdSource } from '../../../src/model/ids.ts';
import { createLog } from '../../../src/platform/log.ts';
import { android, crawler, iPhone } from '../../api/analytics/counted-api.ts';
import { actor, openCodes } from '../codes/codes-fixture.ts';
import { EngineHarness, scanOf } from '../../engine/counting/engine-harness.ts';
import { analyticsOf } from '../../engine/counting/plain-model.ts';
import { soon } from '../../support/soon.ts';
import {
  type CampaignsFixture,
  dayNumber,
  openCampaignsFixture,
  openParts,
} from './campaigns-fixture.ts';

const first = dayNumber('2026-03-01');
const hourMs = 3_600_000;
const yearMs = 365 * dayMs;

test('totals wait for what is journaled, a minute at most', async () => {
  const { fixture, campaigns, clock, tick } = await openParts();
  const { counting } = fixture;
  counting.isPrompt = false;
  await campaigns.create(actor, { name: 'a', startDay: 0, endDay: 0, qrCodeIds: [] });
  counting.journaled = 100;
  counting.counted = 99;
  expect(await tick()).toBe(0);
  // What is journaled later is not waited for.
  counting.journaled = 200;
  counting.counted = 100;
  expect(await tick()).toBe(1);
  await campaigns.create(actor, { name: 'b', startDay: 0, endDay: 0, qrCodeIds: [] });
  expect(await tick()).toBe(0);
  clock.move(59_000);
  expect(await tick()).toBe(0);
  clock.move(1_000);
  expect(await tick()).toBe(1);
});

test('a move and the end at the same time: one of them, and the event only with the end', async () => {
  const { fixture, campaigns, clock, tick } = await openParts();
  const made: CampaignRecord[] = [];
  for (let at = 0; at < 20; at++) {
    made.push(
      await campaigns.create(actor, { name: 'c', startDay: 0, endDay: first, qrCodeIds: [] }),
    );
  }
  clock.set((first + 1) * dayMs - 1);
  const over = Promise.withResolvers<void>();
  const moves = made.map(async ({ id }, at) => {
    for (let cycle = 0; cycle < at * 3; cycle++) await yieldToEventLoop();
    if (at === 19) await over.promise;
    return await campaigns.change(actor, id, { endDay: first + 1 }).then(
      () => 'moved',
      ({ code }: Failure) => code,
    );
  });
  await moves[0];
  clock.move(5_000);
  over.resolve();
  await tick();
  const outcome = await Promise.all(moves);
  const ended = fixture.emitted('campaign.ended').map(({ id }) => id);
  expect(ended).toEqual(made.filter((_, at) => outcome[at] === 'conflict').map(({ id }) => id));
  expect(new Set(outcome)).toEqual(new Set(['moved', 'conflict']));
});

test('however many ask at the same moment, the end is emitted once', async () => {
  const { fixture, campaigns, tick } = await openParts();
  const draft = { name: 'c', startDay: 0, endDay: first - 9, qrCodeIds: [] };
  const [one, two] = [await campaigns.create(actor, draft), await campaigns.create(actor, draft)];
  const ended = await Promise.all([campaigns.end(one.no), campaigns.end(one.no), tick()]);
  expect(ended.filter((did) => did === true).length).toBeLessThanOrEqual(1);
  await Promise.all([campaigns.delete(actor, two.id), campaigns.end(two.no)]);
  const emitted = fixture.emitted('campaign.ended').map(({ id }) => id);
  expect([emitted.length, new Set(emitted)]).toEqual([2, new Set([one.id, two.id])]);
});

test('a disk that is full delays the end, says so once, and takes none with it', async () => {
  const { fixture, campaigns } = await openParts();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  for (const name of ['a', 'b']) {
    await campaigns.create(actor, { name, startDay: 0, endDay: 0, qrCodeIds: [] });
  }
  const disk = vi.spyOn(fixture.app.store.environment, 'transaction');
  disk.mockRejectedValue(new Failure('storage_full', 'The data folder has no space left'));
  fixture.app.campaignScheduler.start();
  await vi.advanceTimersByTimeAsync(1_000);
  await vi.waitFor(() => expect(fixture.app.logLines.length).toBe(1), soon);
  disk.mockRestore();
  await vi.advanceTimersByTimeAsync(1_000);
  await vi.waitFor(() => expect(fixture.emitted('campaign.ended').length).toBe(2), soon);
  await fixture.app.campaignScheduler.close();
  expect(fixture.app.logLines.length).toBe(2);
});

/** One campaign and what a test knows of it. */
interface Watched {
  readonly no: number;
  readonly id: string;
  /** Wall time of its end as it was last set; undefined = none. */
  endMs: number | undefined;
  isDeleted: boolean;
  isEmitted: boolean;
  /** Ticks of a minute in a row at which it was past its end. */
  ticksOver: number;
}

const steps = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...[1, 5, 20].map((h) => ['wait', h] as const)) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('move' as const), fc.integer({ min: -3, max: 4 })) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('endless' as const), fc.constant(0)) },
  {
    weight: 2,
    arbitrary: fc.tuple(
      fc.constant('step' as const),
      fc.constantFrom(hourMs, -hourMs, yearMs, -yearMs),
    ),
  },
  { weight: 2, arbitrary: fc.tuple(fc.constant('restart' as const), fc.constant(0)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('delete' as const), fc.constant(0)) },
);

test('ended exactly once and within 5 minutes, over moves, restarts and steps of the clock', async () => {
  const fixture = await openCampaignsFixture();
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(steps, fc.integer({ min: 0, max: 2 })), { minLength: 5, maxLength: 25 }),
      async (script) => {
        fixture.app.clock.set(first * dayMs);
        const watched: Watched[] = [];
        for (const [at, endDay] of [first, first + 1, undefined].entries()) {
          const draft = { name: String(at), startDay: first - 5, endDay, qrCodeIds: [] };
          const { id, no } = await fixture.app.campaigns.campaigns.create(actor, draft);
          const endMs = endDay === undefined ? undefined : (endDay + 1) * dayMs;
          watched.push({ id, no, endMs, isDeleted: false, isEmitted: false, ticksOver: 0 });
        }
        for (const [[kind, by], which] of script) {
          await play(fixture, watched[which]!, kind, by);
          // Time stands still for a script's step, and the clock ticks each minute of what follows.
          for (let minute = 0; minute < (kind === 'wait' ? by * 60 : 6); minute += 1) {
            fixture.app.clock.move(60_000);
            // Only the last ticks of a long wait can show anything new.
            const isSkipped = kind === 'wait' && minute > 5 && minute < by * 60 - 6;
            if (!isSkipped) await tickAndCheck(fixture, watched);
          }
        }
        for (const { id, isDeleted } of watched) {
          if (!isDeleted) await fixture.app.campaigns.campaigns.delete(actor, id);
        }
      },
    ),
    { numRuns: 15 },
  );
});

async function play(
  fixture: CampaignsFixture,
  one: Watched,
  kind: string,
  by: number,
): Promise<void> {
  const { clock } = fixture.app;
  const { campaigns } = fixture.app.campaigns;
  if (kind === 'restart') await fixture.restart();
  if (kind === 'step') clock.move(by);
  const today = Math.floor(clock.now() / dayMs);
  if (kind === 'delete' && !one.isDeleted) {
    await campaigns.delete(actor, one.id);
    one.isDeleted = true;
  }
  if (kind !== 'move' && kind !== 'endless') return;
  const endDay = kind === 'move' ? Math.max(today + by, first - 5) : null;
  const before = campaigns.find(1, one.id);
  const isOver = before?.end !== undefined || (one.endMs ?? Infinity) <= clock.now();
  const outcome = await campaigns.change(actor, one.id, { endDay }).then(
    () => 'moved',
    ({ code }: Failure) => code,
  );
  const isSame = before?.endDay === (endDay ?? undefined);
  if (one.isDeleted) expect(outcome).toBe('not_found');
  else expect(outcome).toBe(isOver && !isSame ? 'conflict' : 'moved');
  if (outcome !== 'moved') return;
  one.endMs = endDay === null ? undefined : (endDay + 1) * dayMs;
  one.ticksOver = 0;
}

/** One tick, and what must hold after it. */
async function tickAndCheck(fixture: CampaignsFixture, watched: readonly Watched[]): Promise<void> {
  await fixture.app.campaignScheduler.tick();
  const emitted = fixture.emitted('campaign.ended').map(({ id }) => id);
  expect(new Set(emitted).size).toBe(emitted.length);
  for (const one of watched) {
    const isEmitted = emitted.includes(one.id);
    const record = fixture.app.campaigns.campaigns.find(1, one.id);
    if (!one.isDeleted) expect(record?.end !== undefined).toBe(isEmitted);
    const isOver = (one.endMs ?? Infinity) <= fixture.app.clock.now();
    one.ticksOver = isOver && !one.isDeleted ? one.ticksOver + 1 : 0;
    // Ticks are a minute apart here; the real ones are a second.
    if (one.ticksOver >= 5) expect(isEmitted).toBe(true);
    if (isEmitted && !one.isEmitted && !one.isDeleted) expect(isOver).toBe(true);
    one.isEmitted = isEmitted;
  }
}

const agents = [iPhone, android, crawler];
const target = 'https://example.com/';
const visitedFrom = dayNumber('2026-03-04');

async function openSetup() {
  const fixture = await openCodes();
  const engine = new EngineHarness({
    journals: 2,
    segmentBytesMax: 10_000,
    actorsMax: 100,
    rawRetentionDays: 40_000,
    codeOf: (no) => fixture.codes.findScanned(no),
  });
  onTestFinished(async () => await engine.close());
  engine.startShards(2);
  const { clock, outbox, codes, store } = fixture;
  const ids = createIdSource(clock, getRandomValues);
  const parts = { store, outbox, ids, clock, codes };
  const services = openCampaigns({ ...parts, scans: engine.queries.analytics });
  /** Scans of a code on days from `from` to `to`, by visitors that codes share. */
  const visit = (codeNo: number, from: number, to: number): void => {
    for (let day = from; day <= to; day++) {
      const inputs = Array.from({ length: 5 }, (_, at) => {
        const agent = agents[(at + codeNo) % agents.length]!;
        const referer = at % 2 === 0 ? '' : 'https://www.example.org/a?b=c';
        return scanOf(codeNo, {
          agent,
          referer,
          address: Uint8Array.of(10, 0, day & 1, (at * codeNo) % 7),
        });
      });
      engine.scan(day % 2, day * dayMs + codeNo * 1_000, inputs);
    }
  };
  return { fixture, engine, services, visit };
}

test('numbers at the end are those of the schedule, with every scan that was answered before it', async () => {
  const { fixture, engine, services, visit } = await openSetup();
  const { clock, codes, outbox } = fixture;
  const { analytics, campaigns, conversions } = services;
  const [a, b, other] = [
    await codes.create(actor, { target }),
    await codes.create(actor, { target }),
    await codes.create(actor, { target }),
  ];
  const span = { startDay: visitedFrom, endDay: visitedFrom + 1 };
  const { id } = await campaigns.create(actor, { name: 'c', ...span, qrCodeIds: [a.id, b.id] });
  const counting = engine.counting();
  const log = createLog('debug', { write: () => undefined });
  const scheduler = new CampaignScheduler({ campaigns, counting, clock, log });
  const convert = async (qrCodeId: string) =>
    await conversions.record(actor, { qrCodeId, value: null, externalId: undefined });
  clock.set(visitedFrom * dayMs);
  for (const qrCodeId of [a.id, other.id]) await convert(qrCodeId);
  clock.set((visitedFrom + 2) * dayMs - 1);
  await convert(b.id);
  for (const { no } of [a, b, b, other]) visit(no, visitedFrom - 1, visitedFrom + 2);
  const empty = counting.mark();
  expect(empty.isPast()).toBe(false);
  clock.move(10_000);
  await convert(b.id);
  expect(await scheduler.tick()).toBe(0);
  engine.cycle(0);
  engine.settle();
  expect(empty.isPast()).toBe(true);
  expect(await scheduler.tick()).toBe(1);
  const facts = engine.facts.filter(({ codeNo, timeMs }) => {
    const day = Math.floor(timeMs / dayMs);
    return codeNo !== other.no && day >= visitedFrom && day <= visitedFrom + 1;
  });
  const { totalScans, uniqueScanners } = analyticsOf(facts);
  expect(totalScans).toBeGreaterThan(uniqueScanners);
  const result = { totalScans, uniqueScanners, conversionRate: 2 / totalScans };
  const { end } = campaigns.find(1, id) ?? {};
  expect(end).toEqual({ ...result, conversions: 2, atMs: clock.now() });
  const days = { fromDay: visitedFrom + 1, toDay: visitedFrom + 9 };
  const campaign = campaigns.find(1, id)!;
  const { codes: found } = await analytics.totals(campaign, {
    subject: analytics.subjectOf(campaign),
    range: analytics.range(campaign, days),
    shown: analytics.seriesRange(campaign, days),
    filter: {},
  });
  const ofDay = facts.filter(({ timeMs }) => timeMs >= days.fromDay * dayMs);
  const perCode = [b, a].map(({ id: qrCodeId, no }) => {
    const own = ofDay.filter(({ codeNo }) => codeNo === no);
    return { qrCodeId, totalScans: analyticsOf(own).totalScans };
  });
  expect(found).toMatchObject(perCode);
  const ended = outbox.after(0, 100).filter(({ kind }) => kind === 'campaign.ended');
  expect(ended.map(({ body }) => JSON.parse(body))).toMatchObject([{ data: { id, ...result } }]);
});
