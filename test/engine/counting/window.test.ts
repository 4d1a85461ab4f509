/** A window and the block made of it: the scans that were added, by code, and nothing else. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isMissed } from '../../../src/model/routing/labels.ts';
import { refererHost, ScanBlock } from '../../../src/engine/counting/block.ts';
import { countryCode, countryNumber } from '../../../src/model/scan.ts';
import { type Scan, setBlockSequence, Window } from '../../../src/engine/counting/window.ts';

const u32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const country = fc.constantFrom('DE', 'US', 'ZZ').map(countryNumber);
const scan: fc.Arbitrary<Scan> = fc.record({
  codeNo: fc.oneof(fc.integer({ min: 1, max: 6 }), u32),
  workspaceNo: fc.constant(0),
  timeMs: fc.integer({ min: 0, max: 4e12 }),
  journal: fc.integer({ min: 0, max: 4_095 }),
  position: fc.integer({ min: 0, max: 2 ** 50 }),
  visitorHigh: u32,
  visitorLow: u32,
  country,
  city: fc.oneof(
    fc.constant(''),
    fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => `${text}, DE`),
  ),
  referer: fc.string({ maxLength: 512 }),
  device: fc.integer({ min: 0, max: 3 }),
  platform: fc.integer({ min: 0, max: 2 }),
  os: fc.integer({ min: 0, max: 6 }),
  browser: fc.integer({ min: 0, max: 27 }),
  bot: fc.constantFrom(0, 0, 0, 1, 2, 3),
  route: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 63 })),
});
/** A code belongs to one workspace. */
const workspaceOf = (codeNo: number): number => (codeNo * 7) % 2 ** 32;

const fields = [
  ...(['timeMs', 'position', 'journal', 'country', 'city', 'referer'] as const),
  ...(['device', 'os', 'bot', 'route', 'isScan'] as const),
];
const entriesOf = (block: ScanBlock, group: number) =>
  Array.from({ length: block.count(group) }, (_, index) =>
    Object.fromEntries(fields.map((field) => [field, block[field](block.first(group) + index)])),
  );

const isScan = ({ bot, route }: Scan): boolean => bot === 0 && !isMissed(route);

const entryOf = (one: Scan) => {
  const { timeMs, position, journal, referer, device, os, bot, route } = one;
  const place = { country: countryCode(one.country), city: one.city.slice(0, -4) };
  return {
    timeMs,
    position,
    journal,
    ...place,
    referer,
    device,
    os,
    bot,
    route,
    isScan: isScan(one),
  };
};

describe('Window and ScanBlock', () => {
  it('keep every scan under its code, in order of arrival, window after window', () => {
    const window = new Window();
    const property = fc.property(fc.array(scan, { maxLength: 60 }), (made) => {
      const scans = made.map((one) => ({ ...one, workspaceNo: workspaceOf(one.codeNo) }));
      for (const one of scans) window.add(one);
      expect(window.scans).toBe(scans.length);
      const bytes = window.close(3, (codeNo) => codeNo * 2 + 1);
      window.clear();
      setBlockSequence(bytes, 2 ** 40 + 5);
      const block = new ScanBlock(Uint8Array.from(bytes));
      expect(block.newestMs).toBe(Math.max(0, ...scans.map(({ timeMs }) => timeMs)));
      expect(block.sequence).toBe(2 ** 40 + 5);
      const codes = [...new Set(scans.map(({ codeNo }) => codeNo))].sort((a, b) => a - b);
      expect(Array.from({ length: block.groups }, (_, group) => block.codeNo(group))).toEqual(
        codes,
      );
      for (const [group, codeNo] of codes.entries()) {
        expect(block.find(codeNo)).toBe(group);
        expect(block.workspaceNo(group)).toBe(workspaceOf(codeNo));
        expect(block.previous(group)).toBe(codeNo * 2 + 1);
        const own = scans.filter((one) => one.codeNo === codeNo);
        expect(entriesOf(block, group)).toEqual(own.map(entryOf));
      }
      for (const absent of [0, 7, 8, 2 ** 32 - 1]) {
        if (!codes.includes(absent)) expect(block.find(absent)).toBe(-1);
      }
    });
    fc.assert(property, { numRuns: 150 });
  });

  it('grow beyond their first size and keep their entries', () => {
    const window = new Window();
    const one = fc.sample(scan, { numRuns: 1, seed: 4 })[0]!;
    for (let i = 0; i < 10_000; i++) window.add({ ...one, codeNo: i % 100, position: i });
    const block = new ScanBlock(window.close(0, () => 0));
    for (let group = 0; group < 100; group++) {
      const positions = entriesOf(block, group).map((entry) => entry['position']);
      expect(positions).toEqual(Array.from({ length: 100 }, (_, i) => i * 100 + group));
    }
  });

  it('refuse a block of another version', () => {
    const bytes = new Window().close(0, () => 0);
    for (const version of [0, 2]) {
      bytes[0] = version;
      expect(() => new ScanBlock(bytes)).toThrow(`version ${version}, expected 1`);
    }
  });
});

describe('refererHost', () => {
  it.each([
    ['https://www.example.org/a', 'example.org'],
    ['http://EXAMPLE.org:8080/', 'example.org:8080'],
    ['android-app://com.google.android.gm/x', 'com.google.android.gm'],
    ['about:blank', 'about'],
    ['garbage', ''],
    ['', ''],
    [`https://${'a'.repeat(60)}.${'b'.repeat(60)}.example/`, `${'a'.repeat(60)}.${'b'.repeat(39)}`],
  ])('%s is %s', (referer, host) => expect(refererHost(referer)).toBe(host));

  it('is the same however often it was asked for, whatever bytes a client sends', () => {
    const sent = ['https://grüße.example/ä', 'https://münchen.example/', 'https://\xff.example/'];
    const referers = [...sent, ...sent.map((text) => Buffer.from(text).toString('latin1'))];
    const before = referers.map(refererHost);
    expect(before).toContain('xn--mnchen-3ya.example');
    let hosts = 0;
    for (let no = 0; no < 100_000; no++) hosts += refererHost(`https://a${no % 9}.example/`).length;
    expect(hosts).toBe(1_000_000);
    expect(referers.map(refererHost)).toEqual(before);
  });
});
