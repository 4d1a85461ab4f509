/**
 * What a code's record keeps of where it leads, as codes are created and changed; and the numbers of labels, which
 * scans carry for ever: over any edits, and when all 58 are taken.
 */
import { expect, test } from 'vitest';
import fc from 'fast-check';
import type { GivenRoutes, RouteFields } from '../../../src/product/codes/routing/route-fields.ts';
import { Failure } from '../../../src/model/failure.ts';
import { countries } from '../../../src/model/routing/countries.ts';
import type { QrCodeRecord } from '../../../src/model/code.ts';
import { actor, openCodes, putCampaign } from './codes-fixture.ts';
import { storedRouting } from '../../../src/product/codes/routing/stored-routing.ts';
import { labelsMax, routeNumberOf } from '../../../src/model/routing/labels.ts';
import type { Routing } from '../../../src/model/routing/routing.ts';

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
  clock.move(59_999);
  await expect(codes.change(actor, code.id, change)).rejects.toMatchObject({
    code: 'labels_exhausted',
  });
  clock.move(1);
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

test('countries are those of ISO 3166-1 that Intl knows by name, Kosovo, and the unknown one', () => {
  expect(countries.size).toBe(251);
  const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
  for (const code of countries) expect([code, names.of(code)]).toEqual([code, expect.any(String)]);
  for (const code of ['EU', 'UN', 'EZ', 'QO', 'XA', 'XB', 'UK', 'SU']) {
    expect(countries).not.toContain(code);
  }
});

const minute = 60_000;
const leading = (label: string) => ({ label, target, weight: 1 });

/** The first as rules, two as a split where they are enough. */
function fieldsWith(labels: readonly string[]): RouteFields | undefined {
  if (labels.length === 0) return undefined;
  const split = labels.length < 3 ? [] : labels.slice(-2);
  const rules = labels.slice(0, labels.length - split.length).map(ruleTo);
  const splits = split.length === 0 ? {} : { split: split.map(leading) };
  return { rules, ...splits, passQuery: false, paused: false };
}

/** A code that is edited, with the scans that it gets. */
class EditedCode {
  routing: Routing | undefined;
  nowMs = 1_000_000;
  /** By number, the labels under which scans were counted. */
  readonly scans = new Map<number, Set<string>>();
  #seeds = 0;

  edit(labels: readonly string[], knowsScans: 'knows scans' | 'knows none' = 'knows scans'): void {
    this.routing = storedRouting(fieldsWith(labels), this.routing, {
      campaign: '',
      nowMs: this.nowMs,
      seenOf: () => (knowsScans === 'knows none' ? undefined : new Set(this.scans.keys())),
      randomBytes: (bytes) => bytes.fill(++this.#seeds),
    });
  }

  numberOf(label: string): number {
    return routeNumberOf(this.routing?.labels ?? [], label);
  }

  scan(label: string): void {
    const number = this.numberOf(label);
    const counted = this.scans.get(number) ?? new Set();
    this.scans.set(number, counted.add(label));
  }
}

const names = Array.from({ length: 90 }, (_, at) => `l${at}`);
const edits = fc.array(
  fc.record({
    labels: fc.uniqueArray(fc.constantFrom(...names), { maxLength: 28 }),
    scanned: fc.array(fc.nat(27), { maxLength: 4 }),
    afterMs: fc.constantFrom(0, 1_000, minute),
  }),
  { maxLength: 30 },
);

test('over any edits a label with scans keeps its number, no two share one, and the seed stays', () => {
  fc.assert(
    fc.property(edits, (steps) => {
      const code = new EditedCode();
      const numbers = new Map<string, number>();
      for (const { labels, scanned, afterMs } of steps) {
        const before = code.routing;
        try {
          code.edit(labels);
        } catch (error) {
          expect(error).toBeInstanceOf(Failure);
          expect(code.routing).toBe(before);
          continue;
        } finally {
          code.nowMs += afterMs;
        }
        for (const at of scanned) {
          const label = labels[at % Math.max(1, labels.length)];
          if (label !== undefined) code.scan(label);
        }
        for (const label of labels) {
          const number = code.numberOf(label);
          expect(number).toBeGreaterThanOrEqual(1);
          expect(number).toBeLessThanOrEqual(labelsMax);
          const hasScans = code.scans.get(numbers.get(label) ?? 0)?.has(label) === true;
          if (hasScans) expect(number).toBe(numbers.get(label));
          numbers.set(label, number);
        }
        for (const counted of code.scans.values()) expect(counted.size).toBe(1);
        expect(new Set(code.routing?.labels.map(({ name }) => name)).size).toBe(
          code.routing?.labels.length ?? 0,
        );
        if (before !== undefined) expect(code.routing?.seed).toBe(before.seed);
        if (before !== undefined && before.labels.length > 0) {
          expect(code.routing?.labelsSinceMs).toBe(before.labelsSinceMs);
        }
      }
    }),
    { numRuns: 150 },
  );
});

test('a code that leads to a split counts under its variants: the rule has no number', () => {
  const rule = { ...ruleTo('rule'), then: { split: [leading('a'), leading('b')] } };
  const fields = { rules: [rule], passQuery: false, paused: false };
  const sources = { campaign: '', nowMs: 0, seenOf: () => undefined };
  const stored = storedRouting(fields, undefined, { ...sources, randomBytes: (bytes) => bytes });
  expect(stored?.labels).toEqual([{ name: 'a' }, { name: 'b' }]);
});

test('when all 58 are taken none with scans is given back, nor any where scans cannot be read', () => {
  const code = new EditedCode();
  // Two sets of 28 and one of 2.
  for (const first of [0, 28, 56]) code.edit(names.slice(first, Math.min(first + 28, labelsMax)));
  expect(code.routing?.labels).toHaveLength(labelsMax);
  const exhausted = expect.objectContaining({ code: 'labels_exhausted' });
  code.nowMs += minute;
  expect(() => code.edit(['new'], 'knows none')).toThrow(exhausted);
  for (let number = 1; number <= labelsMax; number++) code.scans.set(number, new Set(['x']));
  code.scans.delete(7);
  expect(() => code.edit(['new', 'newer'])).toThrow(exhausted);
  code.edit(['new']);
  expect(code.numberOf('new')).toBe(7);
});
