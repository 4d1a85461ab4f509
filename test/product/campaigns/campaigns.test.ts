/** Campaigns: what is accepted and refused, which codes are members, which events are emitted, and conversions. */
import { expect, test } from 'vitest';
import { campaignStateAt } from '../../../src/model/campaign.ts';
import { dayMs, dayOf } from '../../../src/model/day.ts';
import type { Failure } from '../../../src/model/failure.ts';
import { actor, stranger } from '../codes/codes-fixture.ts';
import { timersOf } from '../../store/timers.ts';
import { type CampaignsFixture, dayNumber, openParts } from './campaigns-fixture.ts';

const march = { startDay: dayNumber('2026-03-01'), endDay: dayNumber('2026-03-31') };
const target = 'https://example.com/';
const faultsOf = async (work: Promise<unknown>): Promise<unknown> =>
  await work.then(
    () => 'no failure',
    (error: Failure) => [error.code, ...error.faults.map(({ path, code }) => `${path} ${code}`)],
  );
const listed = async (fixture: CampaignsFixture, campaignId: string): Promise<string[]> => {
  const page = await fixture.app.codes.list(1, { filter: { campaignId }, limit: 100 });
  expect(page.total).toBe(page.data.length);
  return page.data.map(({ id }) => id).sort();
};

test('the borders are the first moments of days, and what is told is over for ever', () => {
  const at = (nowMs: number) => campaignStateAt(march, nowMs);
  const startMs = Date.UTC(2026, 2, 1);
  const endMs = Date.UTC(2026, 3, 1);
  const around = [startMs - 1, startMs, endMs - 1, endMs].map(at);
  expect(around).toEqual(['scheduled', 'active', 'active', 'ending']);
  const { endDay: _none, ...endless } = march;
  expect(campaignStateAt(endless, Number.MAX_SAFE_INTEGER)).toBe('active');
  const end = { atMs: 1, totalScans: 0, uniqueScanners: 0, conversions: 0, conversionRate: 0 };
  expect(campaignStateAt({ ...march, end }, 0)).toBe('ended');
});

test('a new campaign emits campaign.created with its data, in the order given', async () => {
  const { fixture, campaigns, a, b } = await openParts(2);
  const made = await campaigns.create(actor, { name: 'Spring', ...march, qrCodeIds: [b, a] });
  const endless = await campaigns.create(actor, { name: 'E', startDay: 0, qrCodeIds: [] });
  const days = { startDate: '2026-03-01', endDate: '2026-03-31' };
  expect(fixture.emitted('campaign.created')).toEqual([
    { id: made.id, name: 'Spring', ...days, qrCodeIds: [b, a] },
    { id: endless.id, name: 'E', startDate: '1970-01-01', endDate: null, qrCodeIds: [] },
  ]);
  expect(campaigns.qrCodeIdsOf(made)).toEqual([b, a]);
  expect(campaigns.find(stranger.workspaceNo, made.id)).toBeUndefined();
});

test('a new campaign with faults is refused with all of them, and leaves nothing behind', async () => {
  const { fixture, campaigns, codes, a: own, b: gone } = await openParts(2);
  await codes.delete(actor, gone);
  const strangersCode = await codes.create(stranger, { target });
  const qrCodeIds = [own, strangersCode.id, gone, own, 'qr_00000000000000000000'];
  const wrong = { name: 'x', startDay: march.endDay, endDay: march.startDay, qrCodeIds };
  expect(await faultsOf(campaigns.create(actor, wrong))).toEqual([
    'validation_failed',
    'endDate before_start',
    'qrCodeIds.1 unknown_code',
    'qrCodeIds.2 unknown_code',
    'qrCodeIds.3 repeated',
    'qrCodeIds.4 unknown_code',
  ]);
  expect(campaigns.page(1, { page: 1, limit: 10 }).total).toBe(0);
  expect(fixture.emitted('campaign.created')).toEqual([]);
});

test('a code’s campaignIds and a campaign’s list are the same thing', async () => {
  const { fixture, campaigns, codes, a, b } = await openParts(2);
  const one = await campaigns.create(actor, { name: '1', ...march, qrCodeIds: [a] });
  const two = await campaigns.create(actor, { name: '2', ...march, qrCodeIds: [a, b] });
  const idsOf = (id: string) =>
    codes.memberships.campaignsOf(codes.find(1, id)?.no ?? 0).map((campaign) => campaign.id);
  expect([idsOf(a), idsOf(b)]).toEqual([[one.id, two.id], [two.id]]);
  const c = await codes.create(actor, { target, campaignIds: [one.id] });
  expect(campaigns.qrCodeIdsOf(one)).toEqual([a, c.id]);
  await codes.change(actor, c.id, { campaignIds: [two.id] });
  expect([campaigns.qrCodeIdsOf(one), campaigns.qrCodeIdsOf(two)]).toEqual([[a], [a, b, c.id]]);
  expect(await listed(fixture, two.id)).toEqual([a, b, c.id].sort());
  await campaigns.change(actor, two.id, { qrCodeIds: [b] });
  expect(idsOf(c.id)).toEqual([]);
  expect(await listed(fixture, two.id)).toEqual([b]);
  await codes.change(actor, c.id, { campaignIds: [one.id] });
  expect(idsOf(c.id)).toEqual([one.id]);
  await codes.change(actor, c.id, { campaignIds: null });
  expect(campaigns.qrCodeIdsOf(one)).toEqual([a]);
  await campaigns.delete(actor, one.id);
  expect([idsOf(a), await listed(fixture, one.id)]).toEqual([[], []]);
  const { campaignCodes, codeCampaigns } = fixture.app.store.campaigns;
  expect([campaignCodes.count({}), codeCampaigns.count({})]).toEqual([1, 1]);
});

test('an unknown, foreign or full campaign is refused with the field’s name', async () => {
  const { fixture, campaigns, codes, a } = await openParts(1);
  const made = await campaigns.create(actor, { name: '1', ...march, qrCodeIds: [] });
  const unknown = ['validation_failed', 'campaignIds.0 unknown_campaign'];
  expect(await faultsOf(codes.create(stranger, { target, campaignIds: [made.id] }))).toEqual(
    unknown,
  );
  const campaignIds = ['cmp_00000000000000000000'];
  expect(await faultsOf(codes.create(actor, { target, campaignIds }))).toEqual(unknown);
  expect(await faultsOf(codes.change(actor, a, { campaignIds }))).toEqual(unknown);
  expect(await faultsOf(codes.replace(actor, a, { target, campaignIds }))).toEqual(unknown);
  const many = await fixture.codes(1_000);
  await campaigns.change(actor, made.id, { qrCodeIds: many });
  expect(await faultsOf(codes.change(actor, a, { campaignIds: [made.id] }))).toEqual([
    'validation_failed',
    'campaignIds.0 campaign_full',
  ]);
  await codes.delete(actor, many[0] ?? '');
  await codes.change(actor, a, { campaignIds: [made.id] });
  expect(await faultsOf(campaigns.change(actor, made.id, { qrCodeIds: [a, ...many] }))).toEqual([
    'validation_failed',
    'qrCodeIds.1 unknown_code',
  ]);
  const { total } = await codes.list(1, { filter: { campaignId: made.id }, limit: 1 });
  expect(total).toBe(1_000);
});

test('a deleted code is listed no more, and counts on', async () => {
  const { fixture, campaigns, analytics, codes, a, b } = await openParts(2);
  const made = await campaigns.create(actor, { name: '1', ...march, qrCodeIds: [a, b] });
  for (const id of [a, b]) fixture.app.scans.lifetime.set(codes.get(1, id).no, 1);
  await codes.delete(actor, b);
  expect(campaigns.qrCodeIdsOf(made)).toEqual([a]);
  expect(await listed(fixture, made.id)).toEqual([a]);
  expect(await analytics.result(made)).toMatchObject({ totalScans: 2 });
  // A list that is set anew lets live codes go, not what is only waiting for its end.
  await campaigns.change(actor, made.id, { qrCodeIds: [] });
  expect(await analytics.result(made)).toMatchObject({ totalScans: 1 });
});

test('what is the same changes nothing; from the end on only the name can', async () => {
  const { campaigns, codes, clock, a, b } = await openParts(2);
  const made = await campaigns.create(actor, { name: '1', ...march, qrCodeIds: [a] });
  clock.move(1_000);
  expect(await campaigns.change(actor, made.id, { name: '1', qrCodeIds: [a] })).toEqual(made);
  const moved = await campaigns.change(actor, made.id, { endDay: null });
  expect(moved).toEqual({ ...made, endDay: undefined, updatedAtMs: clock.now() });
  const backwards = { endDay: made.startDay - 1 };
  expect(await faultsOf(campaigns.change(actor, made.id, backwards))).toEqual([
    'validation_failed',
    'endDate before_start',
  ]);
  await campaigns.change(actor, made.id, { endDay: march.endDay });
  clock.set((march.endDay + 1) * dayMs);
  for (const change of [{ endDay: march.endDay + 1 }, { endDay: null }, { qrCodeIds: [b] }]) {
    expect(await faultsOf(campaigns.change(actor, made.id, change))).toEqual(['conflict']);
  }
  expect(await faultsOf(campaigns.change(actor, made.id, { startDay: 1 }))).toEqual(['conflict']);
  await campaigns.end(made.no);
  expect(await faultsOf(campaigns.change(actor, made.id, { endDay: null }))).toEqual(['conflict']);
  expect(await campaigns.change(actor, made.id, { name: 'done' })).toMatchObject({
    name: 'done',
  });
  const late = { target, campaignIds: [made.id] };
  expect(await faultsOf(codes.create(actor, late))).toEqual(['conflict']);
  expect(await faultsOf(codes.change(actor, b, { campaignIds: [made.id] }))).toEqual(['conflict']);
  await codes.change(actor, a, { campaignIds: [made.id] });
  await codes.change(actor, a, { campaignIds: null });
  expect(campaigns.qrCodeIdsOf(made)).toEqual([a]);
});

test('deleting emits an end that is due, and none that is to come', async () => {
  const { fixture, campaigns, clock, tick, a } = await openParts(1);
  const past = { startDay: 0, endDay: 1, qrCodeIds: [a] };
  const over = await campaigns.create(actor, { name: 'over', ...past });
  const open = await campaigns.create(actor, { name: 'open', ...march, qrCodeIds: [a] });
  await campaigns.delete(actor, over.id);
  await campaigns.delete(actor, open.id);
  expect(fixture.emitted('campaign.ended').map(({ id }) => id)).toEqual([over.id]);
  clock.set((march.endDay + 2) * dayMs);
  expect(await tick()).toBe(0);
  expect(await faultsOf(campaigns.delete(actor, open.id))).toEqual(['not_found']);
  expect(timersOf(fixture.app.store.campaigns.campaignDue)).toEqual([]);
});

test('the list is newest first, by page, by cursor and by status', async () => {
  const { campaigns, clock } = await openParts();
  const today = Math.floor(clock.now() / dayMs);
  const ids: string[] = [];
  for (let at = 0; at < 9; at++) {
    const startDay = today + (at % 3) - 1;
    const name = String(at);
    ids.unshift(
      (await campaigns.create(actor, { name, startDay, endDay: startDay, qrCodeIds: [] })).id,
    );
  }
  await campaigns.create(stranger, { name: 's', startDay: 0, qrCodeIds: [] });
  const page = (request: Partial<Parameters<typeof campaigns.page>[1]>) =>
    campaigns.page(1, { page: 1, limit: 4, ...request });
  const idsOf = ({ data }: ReturnType<typeof page>) => data.map(({ id }) => id);
  const first = page({});
  expect([idsOf(first), first.total]).toEqual([ids.slice(0, 4), 9]);
  await campaigns.delete(actor, ids[3] ?? '');
  const second = page({ cursor: first.nextCursor });
  expect(idsOf(second)).toEqual(ids.slice(4, 8));
  const last = page({ cursor: second.nextCursor });
  expect([idsOf(last), last.nextCursor]).toEqual([ids.slice(8), undefined]);
  expect(idsOf(page({ page: 9 }))).toEqual([]);
  const counts = (['scheduled', 'active', 'ended'] as const).map(
    (status) => page({ status, limit: 100 }).total,
  );
  expect(counts).toEqual([2, 3, 3]);
  expect(() => page({ cursor: 'x' })).toThrow('nextCursor');
});

test('conversions are summed per code and day, values to the cent', async () => {
  const { conversions, codes, clock, a, b } = await openParts(2);
  const today = dayOf(clock.now());
  const record = async (qrCodeId: string, value: number | null) =>
    await conversions.record(actor, { qrCodeId, value, externalId: undefined });
  for (let at = 0; at < 10; at++) await record(a, 0.1);
  await record(b, null);
  clock.move(dayMs);
  await record(a, 5);
  const numbers = [a, b].map((id) => codes.find(1, id)?.no ?? 0);
  expect(conversions.sumOf(numbers, today, today)).toEqual({ count: 11, value: 1 });
  expect(conversions.sumOf(numbers, today, today + 1)).toEqual({ count: 12, value: 6 });
  expect(conversions.sumOf(numbers, today + 2, today + 9)).toEqual({ count: 0, value: 0 });
  expect(conversions.daysOf(numbers[0] ?? 0, 0, today + 1)).toEqual([
    { day: today, count: 10, value: 1 },
    { day: today + 1, count: 1, value: 5 },
  ]);
});

test('a name of a conversion counts once for 90 days, in its workspace, also when many ask at once', async () => {
  const { fixture, conversions, codes, clock, a, b } = await openParts(2);
  const strangersCode = await codes.create(stranger, { target });
  const order = { qrCodeId: a, value: 1.5, externalId: 'order-1' };
  const all = await Promise.all(
    Array.from({ length: 20 }, async () => await conversions.record(actor, order)),
  );
  expect(all.filter(({ isRepeated }) => !isRepeated).length).toBe(1);
  const atMs = clock.now();
  clock.move(89 * dayMs);
  expect(await conversions.record(actor, order)).toMatchObject({
    isRepeated: true,
    createdAtMs: atMs,
  });
  for (const other of [
    { ...order, qrCodeId: b },
    { ...order, value: 2 },
    { ...order, value: null },
  ]) {
    const failure = conversions.record(actor, other).catch(({ code }: Failure) => code);
    expect(await failure).toBe('conflict');
  }
  const { isRepeated } = await conversions.record(stranger, {
    ...order,
    qrCodeId: strangersCode.id,
  });
  expect(isRepeated).toBe(false);
  clock.move(dayMs + 1);
  expect(await conversions.record(actor, order)).toMatchObject({ isRepeated: false });
  expect(await conversions.expire()).toBe(0);
  expect(await conversions.record(actor, order)).toMatchObject({ isRepeated: true });
  clock.move(90 * dayMs + 1);
  while ((await conversions.expire()) > 0);
  const { conversionKeys, conversionExpiry } = fixture.app.store.campaigns;
  expect([conversionKeys.count({}), timersOf(conversionExpiry)]).toEqual([0, []]);
});

test("a conversion of an unknown, a stranger's or a deleted code is refused by name, and nothing is remembered", async () => {
  const { fixture, conversions, codes, a: gone } = await openParts(1);
  await codes.delete(actor, gone);
  const strangersCode = await codes.create(stranger, { target });
  for (const qrCodeId of ['qr_00000000000000000000', gone, strangersCode.id]) {
    const failure = conversions
      .record(actor, { qrCodeId, value: 1, externalId: 'x' })
      .catch(({ code, faults }: Failure) => [code, faults[0]?.path, faults[0]?.code]);
    expect(await failure).toEqual(['validation_failed', 'qrCodeId', 'unknown_code']);
  }
  expect(fixture.app.store.campaigns.conversionKeys.count({})).toBe(0);
});
