/** Conversions: counted per code and day, once per name, removed in time. */
import { expect, test } from 'vitest';
import { dayMs, dayOf } from '../../src/model/day.ts';
import type { Failure } from '../../src/model/failure.ts';
import { actor, stranger } from '../codes/codes-fixture.ts';
import { openCampaignsFixture } from './campaigns-fixture.ts';
import { timersOf } from '../store/timers.ts';

test('sums per code and day, values to the cent', async () => {
  const fixture = await openCampaignsFixture();
  const [a = '', b = ''] = await fixture.codes(2);
  const { conversions } = fixture.app.campaigns;
  const { clock, codes } = fixture.app;
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

test('a name counts once for 90 days, in its workspace, also when many ask at once', async () => {
  const fixture = await openCampaignsFixture();
  const [a = '', b = ''] = await fixture.codes(2);
  const strangersCode = await fixture.app.codes.create(stranger, {
    target: 'https://example.com/',
  });
  const { conversions } = fixture.app.campaigns;
  const { clock } = fixture.app;
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

test("an unknown, a stranger's or a deleted code is named, and nothing is remembered", async () => {
  const fixture = await openCampaignsFixture();
  const [gone = ''] = await fixture.codes(1);
  await fixture.app.codes.delete(actor, gone);
  const strangersCode = await fixture.app.codes.create(stranger, {
    target: 'https://example.com/',
  });
  const { conversions } = fixture.app.campaigns;
  for (const qrCodeId of ['qr_00000000000000000000', gone, strangersCode.id]) {
    const failure = conversions
      .record(actor, { qrCodeId, value: 1, externalId: 'x' })
      .catch(({ code, faults }: Failure) => [code, faults[0]?.path, faults[0]?.code]);
    expect(await failure).toEqual(['validation_failed', 'qrCodeId', 'unknown_code']);
  }
  expect(fixture.app.store.campaigns.conversionKeys.count({})).toBe(0);
});
