/** What a code's record keeps of where it leads, as codes are created and changed. */
import { expect, test } from 'vitest';
import type { GivenRoutes } from '../../../src/codes/routing/route-fields.ts';
import type { Failure } from '../../../src/model/failure.ts';
import { countries } from '../../../src/model/routing/countries.ts';
import type { QrCodeRecord } from '../../../src/model/code.ts';
import { actor, openCodes, putCampaign } from '../codes-fixture.ts';

const target = 'https://example.com/';
const campaignId = 'cmp_00000000000000000001';
const campaignIds = [campaignId];
const ruleTo = (label: string) => ({ label, if: { os: ['iOS'] as const }, then: { target } });
const withLabels = (...labels: readonly string[]): GivenRoutes => ({ rules: labels.map(ruleTo) });
const namesOf = (code: QrCodeRecord): unknown => code.routing?.labels.map(({ name }) => name);

test('a plain code has no routing, and one whose fields are at their defaults again neither', async () => {
  const { codes } = await openCodes();
  const plain = await codes.create(actor, { target, rules: [], utm: {}, paused: false });
  expect(plain).not.toHaveProperty('routing');
  const paused = await codes.change(actor, plain.id, { paused: true, startsAtMs: 5 });
  expect(paused.routing).toMatchObject({ paused: true, startsAtMs: 5, rules: [], labels: [] });
  const again = await codes.change(actor, plain.id, { paused: null, startsAtMs: null });
  expect(again).not.toHaveProperty('routing');
  expect(codes.find(1, plain.id)).toEqual(again);
});

test('labels and seed outlive the rules, a restart, and every other change', async () => {
  const fixture = await openCodes();
  const made = await fixture.codes.create(actor, { target, ...withLabels('a', 'b') });
  const seed = made.routing?.seed ?? '';
  expect(Buffer.from(seed, 'base64url')).toHaveLength(16);
  await fixture.codes.replace(actor, made.id, { target });
  await fixture.restart();
  const { codes } = fixture;
  const named = await codes.change(actor, made.id, { name: 'x', ...withLabels('c', 'a') });
  expect([namesOf(named), named.routing?.seed]).toEqual([['a', 'b', 'c'], seed]);
  expect(named.routing?.labels[1]).toEqual({
    name: 'b',
    unusedSinceMs: fixture.clock.now(),
  });
  const other = await codes.create(actor, { target, ...withLabels('a') });
  expect(other.routing?.seed).not.toBe(seed);
});

test('a deleted code keeps its labels for its analytics, and nothing else of where it led', async () => {
  const { codes } = await openCodes();
  const fallbackUrl = 'https://example.com/later';
  const fields = { ...withLabels('a'), utm: { source: 'x' }, fallbackUrl, paused: true };
  const made = await codes.create(actor, { target, ...fields });
  await codes.delete(actor, made.id);
  expect(codes.findKept(1, made.id)?.routing).toEqual({
    rules: [],
    passQuery: false,
    paused: false,
    labels: [{ name: 'a' }],
    labelsSinceMs: made.createdAtMs,
    campaign: '',
    seed: made.routing?.seed,
  });
});

test('the name of the campaign is that of the last change', async () => {
  const fixture = await openCodes();
  const { codes, store } = fixture;
  await putCampaign(fixture, campaignId, 1);
  const utm = { campaign: '{campaign}' };
  const made = await codes.create(actor, { target, utm, campaignIds });
  expect(made.routing?.campaign).toBe('C');
  const { campaigns } = store.campaigns;
  await store.environment.transaction(() => campaigns.put(1, { ...campaigns.get(1)!, name: 'D' }));
  expect(codes.find(1, made.id)?.routing?.campaign).toBe('C');
  expect((await codes.change(actor, made.id, { name: 'x' })).routing?.campaign).toBe('D');
  expect((await codes.change(actor, made.id, { campaignIds: null })).routing?.campaign).toBe('');
});

test('a campaign that is renamed beyond what an address can take keeps its old name there', async () => {
  const fixture = await openCodes();
  const { codes, store } = fixture;
  await putCampaign(fixture, campaignId, 1);
  const long = target.padEnd(2_000, 'x');
  const utm = { campaign: '{campaign}' };
  const { id } = await codes.create(actor, { target: long, utm, campaignIds });
  const { campaigns } = store.campaigns;
  const name = 'D'.repeat(100);
  await store.environment.transaction(() => campaigns.put(1, { ...campaigns.get(1)!, name }));
  const paused = await codes.change(actor, id, { paused: true });
  expect(paused.routing).toMatchObject({ paused: true, campaign: 'C' });
  const tooLong = { code: 'validation_failed', faults: [{ path: 'target', code: 'too_long' }] };
  const longer = long.padEnd(2_040, 'x');
  await expect(codes.change(actor, id, { target: longer })).rejects.toMatchObject(tooLong);
  expect((await codes.change(actor, id, { target })).routing?.campaign).toBe(name);
  await codes.change(actor, id, { campaignIds: null });
  await expect(codes.change(actor, id, { target: long, campaignIds })).rejects.toMatchObject(
    tooLong,
  );
});

test('a label is given back by what the scans say; when none can be, nothing of the change is kept', async () => {
  const seen = new Set<number>();
  const fixture = await openCodes({ routesSeen: () => seen });
  const { codes, clock } = fixture;
  const code = await codes.create(actor, { target });
  const labels = Array.from({ length: 58 }, (_, at) => `l${at}`);
  for (const first of [0, 20, 40]) {
    await codes.change(actor, code.id, withLabels(...labels.slice(first, first + 20)));
  }
  for (let number = 1; number <= 58; number++) if (number !== 9) seen.add(number);
  const events = fixture.outbox.after(0, 100).length;
  const change = { name: 'x', ...withLabels('new') };
  await expect(codes.change(actor, code.id, change)).rejects.toMatchObject({
    code: 'labels_exhausted',
  } satisfies Partial<Failure>);
  expect(codes.find(1, code.id)?.name).toBe(undefined);
  expect(fixture.outbox.after(0, 100)).toHaveLength(events);
  clock.move(60_000);
  const changed = await codes.change(actor, code.id, change);
  expect(changed.routing?.labels[8]).toEqual({ name: 'new' });
});

test('a target that the code has already may stay, whatever the short-link host has become', async () => {
  const fixture = await openCodes();
  const made = await fixture.codes.create(actor, {
    target,
    fallbackUrl: 'https://qr.example.com/closed',
    rules: [{ ...ruleTo('a'), then: { target: 'https://qr.example.com/a' } }],
  });
  const moved = fixture.open({ shortUrlBase: 'https://qr.example.com' });
  expect((await moved.change(actor, made.id, { paused: true })).routing?.paused).toBe(true);
  const more = { ...ruleTo('b'), then: { target: 'https://qr.example.com/b' } };
  const rules = [...(made.routing?.rules ?? []), more];
  await expect(moved.change(actor, made.id, { rules })).rejects.toMatchObject({
    faults: [{ path: 'rules.1.then.target', code: 'own_host' }],
  });
});

test('the faults of a draft are the same without creating it', async () => {
  const { codes } = await openCodes();
  const draft = { target: 'x', split: [{ label: 'paused', target: 'y', weight: 1 }] };
  expect(codes.faultOf(actor, draft)?.faults.map(({ path }) => path)).toEqual([
    'target',
    'split.0.label',
    'split.0.target',
  ]);
});

test('countries are those of ISO 3166-1 that Intl knows by name, Kosovo, and the unknown one', () => {
  expect(countries.size).toBe(251);
  const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
  for (const code of countries) expect([code, names.of(code)]).toEqual([code, expect.any(String)]);
  for (const code of ['EU', 'UN', 'EZ', 'QO', 'XA', 'XB', 'UK', 'SU']) {
    expect(countries).not.toContain(code);
  }
});
