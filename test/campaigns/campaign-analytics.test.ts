/**
 * A campaign's numbers from the engine itself, against a plain count of the scans: sums, the union of
 * scanners, breakdowns, series; and an end that waits for what is journaled.
 */
import { getRandomValues } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { CampaignScheduler } from '../../src/campaigns/campaign-scheduler.ts';
import { type CampaignServices, openCampaigns } from '../../src/campaigns/open-campaigns.ts';
import { dayMs } from '../../src/model/day.ts';
import { createIdSource } from '../../src/model/ids.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { actor, type CodesFixture, openCodes } from '../codes/codes-fixture.ts';
import { EngineHarness, type ScanFact } from '../scans/engine-harness.ts';
import { analyticsOf, breakdownOf, isPerson, timeseriesOf } from '../scans/plain-model.ts';

const agents = [
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/125.0.0.0 Mobile Safari/537.36',
  'Googlebot/2.1 (+http://www.google.com/bot.html)',
];
const target = 'https://example.com/';
const first = Math.floor(Date.UTC(2026, 2, 4) / dayMs);

interface Setup {
  readonly fixture: CodesFixture;
  readonly engine: EngineHarness;
  readonly services: CampaignServices;
  /** Scans of a code on days from `from` to `to`, by visitors that codes share. */
  readonly visit: (codeNo: number, from: number, to: number) => void;
}

async function openSetup(): Promise<Setup> {
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
  const visit = (codeNo: number, from: number, to: number): void => {
    for (let day = from; day <= to; day++) {
      const inputs = Array.from({ length: 5 }, (_, at) => ({
        codeNo,
        workspaceNo: 1,
        agent: agents[(at + codeNo) % agents.length]!,
        referer: at % 2 === 0 ? '' : 'https://www.example.org/a?b=c',
        address: Uint8Array.of(10, 0, day & 1, (at * codeNo) % 7),
        isPrefetch: false,
      }));
      engine.scan(day % 2, day * dayMs + codeNo * 1_000, inputs);
    }
  };
  return { fixture, engine, services, visit };
}

test('equal a plain count over its codes and days, in any range', async () => {
  const { fixture, engine, services, visit } = await openSetup();
  const codes = [];
  for (let at = 0; at < 6; at++) {
    codes.push(await fixture.codes.create(actor, { target }));
  }
  const inside = codes.slice(0, 4);
  const span = { startDay: first + 5, endDay: first + 50 };
  const qrCodeIds = inside.map(({ id }) => id);
  const made = await services.campaigns.create(actor, { name: 'c', ...span, qrCodeIds });
  for (const { no } of codes) visit(no, first, first + 60);
  engine.settle();
  engine.startShards(3);
  engine.settle();
  fixture.clock.set((first + 40) * dayMs);
  await fixture.codes.delete(actor, inside[3]!.id);
  const numbers = new Set(inside.map(({ no }) => no));
  const within = (from: number, to: number): ScanFact[] =>
    engine.facts.filter(({ codeNo, timeMs }) => {
      const day = Math.floor(timeMs / dayMs);
      return numbers.has(codeNo) && day >= from && day <= to;
    });
  const ranges = [
    [undefined, undefined],
    [first, first + 9],
    [first + 20, first + 99],
    [first + 30, first + 30],
  ] as const;
  for (const [fromDay, toDay] of ranges) {
    const from = Math.max(span.startDay, fromDay ?? 0);
    const to = Math.min(span.endDay, toDay ?? 99_999);
    const facts = within(from, to);
    const { analytics } = services;
    const subject = analytics.subjectOf(made);
    const range = analytics.range(made, { fromDay, toDay });
    const shown = analytics.seriesRange(made, { fromDay, toDay });
    const found = await analytics.totals(made, { subject, range, shown, filter: {} });
    expect(found).toMatchObject(analyticsOf(facts));
    const perCode = inside.map(({ id, no }, at) => ({
      qrCodeId: id,
      deleted: at === 3,
      totalScans: facts.filter((fact) => fact.codeNo === no && isPerson(fact)).length,
      conversions: 0,
      conversionValue: 0,
    }));
    expect(found.codes).toEqual(perCode.sort((a, b) => b.totalScans - a.totalScans));
    const shares = await engine.queries.analytics.breakdown(subject, range, 'os');
    expect(shares).toEqual(breakdownOf(facts, 'os'));
    const points = await engine.queries.analytics.series(subject, shown, 'day');
    expect(points).toEqual(timeseriesOf(facts, from, Math.min(to, first + 40), 24));
  }
});

test('at the end are those of the schedule, with every scan that was answered before it', async () => {
  const { fixture, engine, services, visit } = await openSetup();
  const { clock, codes, outbox } = fixture;
  const { campaigns, conversions } = services;
  const [a, b, other] = [
    await codes.create(actor, { target }),
    await codes.create(actor, { target }),
    await codes.create(actor, { target }),
  ];
  const span = { startDay: first, endDay: first + 1 };
  const { id } = await campaigns.create(actor, { name: 'c', ...span, qrCodeIds: [a.id, b.id] });
  const counting = engine.counting();
  const log = createLog('debug', { write: () => undefined });
  const scheduler = new CampaignScheduler({ campaigns, counting, clock, log });
  const convert = async (qrCodeId: string) =>
    await conversions.record(actor, { qrCodeId, value: null, externalId: undefined });
  clock.set(first * dayMs);
  for (const qrCodeId of [a.id, other.id]) await convert(qrCodeId);
  clock.set((first + 2) * dayMs - 1);
  await convert(b.id);
  for (const { no } of [a, b, other]) visit(no, first - 1, first + 2);
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
    return codeNo !== other.no && day >= first && day <= first + 1;
  });
  const { totalScans, uniqueScanners } = analyticsOf(facts);
  expect(totalScans).toBeGreaterThan(uniqueScanners);
  const result = { totalScans, uniqueScanners, conversionRate: 2 / totalScans };
  const { end } = campaigns.find(1, id) ?? {};
  expect(end).toEqual({ ...result, conversions: 2, atMs: clock.now() });
  const ended = outbox.after(0, 100).filter(({ kind }) => kind === 'campaign.ended');
  expect(ended.map(({ body }) => JSON.parse(body))).toMatchObject([{ data: { id, ...result } }]);
});
