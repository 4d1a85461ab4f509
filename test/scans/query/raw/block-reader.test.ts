/** Blocks whose bytes are damaged where no checksum says so: those of a release that had none. */
import { expect, it } from 'vitest';
import { dayMs } from '../../../../src/model/day.ts';
import { countryNumber } from '../../../../src/model/scan.ts';
import { blockHeaderBytes, groupBytes } from '../../../../src/scans/block.ts';
import type { ScanFilter } from '../../../../src/scans/query/filter.ts';
import { EntryCounter } from '../../../../src/scans/query/raw/entry-counter.ts';
import { type Scan, Window } from '../../../../src/scans/window.ts';

const timeMs = 20_700 * dayMs;
const scan: Scan = {
  codeNo: 2,
  workspaceNo: 1,
  timeMs,
  journal: 0,
  position: 0,
  visitorHigh: 1,
  visitorLow: 1,
  country: countryNumber('DE'),
  city: 'Ulm, DE',
  referer: 'https://example.org/',
  device: 1,
  platform: 1,
  os: 1,
  browser: 1,
  bot: 0,
  route: 0,
};
const firstEntryAt = blockHeaderBytes + groupBytes;
const stringsAt = (view: DataView): number => view.getUint32(24, true);

/** Of two scans, with a block of others behind it as a page of the store has. */
function count(filter: ScanFilter, damage: (view: DataView) => void) {
  const window = new Window();
  window.add(scan);
  window.add({ ...scan, visitorLow: 2, city: 'Köln, DE' });
  const block = window.close(0, () => 0);
  const page = Buffer.concat([block, Buffer.alloc(4, 1)]);
  const view = new DataView(page.buffer, page.byteOffset, page.length);
  damage(view);
  const spans = [{ fromMs: timeMs, endMs: timeMs + dayMs }];
  const counter = new EntryCounter({ workspaceNo: 1, spans, filter, of: 'codes', namesMax: 10 });
  const value = { bytes: page, view, start: 0, end: block.length, content: block };
  expect(counter.reader.open(value)).toBe(true);
  return { isRead: counter.countGroups(0, 1), scans: counter.all()[0] };
}

it('a sound block has all of its strings', () => {
  for (const filter of [{}, { city: 'Bonn, DE' }, { referer: 'example.org' }]) {
    expect(count(filter, () => undefined)).toEqual({ isRead: true, scans: 2 });
  }
});

it.each([
  [
    'a string longer than the block',
    (view: DataView) => view.setUint16(stringsAt(view), 60_000, true),
  ],
  ['a string that ends behind it', (view: DataView) => view.setUint16(stringsAt(view), 65, true)],
  [
    'a number of no string',
    (view: DataView) => view.setUint32(firstEntryAt + 28, 2 ** 32 - 1, true),
  ],
  [
    'more strings than it has',
    (view: DataView) => {
      view.setUint32(28, 1_000_000, true);
      view.setUint32(firstEntryAt + 28, 999_999, true);
    },
  ],
])('a block with %s is damaged, and has fewer scans than are expected', (_, damage) => {
  const { isRead, scans } = count({}, damage);
  expect(isRead).toBe(false);
  expect(scans).toBeLessThan(2);
});

it('so is one in which a city is looked for', () => {
  const damage = (view: DataView): void => view.setUint32(28, 1_000_000, true);
  expect(count({ city: 'Bonn, DE' }, damage)).toEqual({ isRead: false, scans: 0 });
});
