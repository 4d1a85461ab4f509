/**
 * Raw scans for benches: 90 days of one workspace, 10,000 codes of which few have most of the scans, 500 cities, a referer on
 * every fourth scan.
 */
import { dayMs } from '../src/model/day.ts';
import { countryNumber } from '../src/model/scan.ts';
import type { ScanFilter } from '../src/engine/analytics/filter.ts';
import type { RawQuery } from '../src/engine/analytics/raw/raw-query.ts';
import { type Scan, setBlockSequence, Window } from '../src/engine/counting/window.ts';
import type { ScanStore } from '../src/store/scans/scans.ts';
import { createRandom } from './random.ts';

const fromMs = 20_454 * dayMs;
const days = 90;
const codes = 10_000;
const places = ['DE', 'US', 'FR', 'GB', 'IT'];
const cities = Array.from({ length: 500 }, (_, at) => `City number ${at}, ${places[at % 5]}`);
const referers = Array.from(
  { length: 50 },
  (_, at) => `https://www.site${at}.example/path?q=${at}`,
);
/** Blocks of one transaction. */
const batch = 2_000;

export const rawFilters: Readonly<Record<string, ScanFilter>> = {
  'country and device': { country: 'DE', device: 'mobile' },
  'a city': { city: cities[7]! },
  'a referer': { referer: 'site3.example' },
  'nothing but the time': {},
};

type Matches = (scan: Scan) => boolean;
const matches: Readonly<Record<string, Matches>> = {
  'country and device': ({ country, device }) => country === countryNumber('DE') && device === 1,
  'a city': ({ city }) => city === cities[7],
  'a referer': ({ referer }) => referer === referers[3],
  'nothing but the time': () => true,
};

/** Small numbers are the likely ones. */
const skewed = (random: () => number, below: number): number =>
  Math.floor(((random() % below) / below) * (random() % below));

function scanOf(random: () => number, timeMs: number, position: number): Scan {
  const city = cities[skewed(random, cities.length)]!;
  const visitor = random() % 3_000_000;
  return {
    codeNo: 1 + skewed(random, codes),
    workspaceNo: 1,
    timeMs,
    journal: 0,
    position,
    visitorHigh: Math.imul(visitor ^ 0x5bd1e995, 0x9e3779b1) >>> 0,
    visitorLow: Math.imul(visitor, 0xc2b2ae35) >>> 0,
    country: countryNumber(city.slice(-2)),
    city,
    referer: random() % 4 === 0 ? referers[random() % referers.length]! : '',
    device: 1 + (random() % 3),
    platform: random() % 3,
    os: random() % 7,
    browser: random() % 28,
    bot: 0,
    route: 0,
  };
}

/** @returns by the name of a filter: scans that match */
export function fillRawScans(
  store: ScanStore,
  scans: number,
  scansPerBlock: number,
): Map<string, number> {
  const counts = new Map(Object.keys(matches).map((name) => [name, 0]));
  const random = createRandom(0x2545f491);
  const window = new Window();
  const stepMs = (days * dayMs) / scans;
  let made = 0;
  let sequence = 0;
  const addBlock = (): void => {
    window.clear();
    for (let left = scansPerBlock; left > 0; left--, made++) {
      const scan = scanOf(random, Math.floor(fromMs + made * stepMs), made);
      window.add(scan);
      for (const [name, isMatch] of Object.entries(matches)) {
        if (isMatch(scan)) counts.set(name, counts.get(name)! + 1);
      }
    }
    const block = window.close(0, () => 0);
    setBlockSequence(block, ++sequence);
    store.blocks.put(sequence, block);
  };
  const blocks = Math.ceil(scans / scansPerBlock);
  for (let first = 0; first < blocks; first += batch) {
    store.environment.transactionSync(() => {
      for (let block = first; block < Math.min(first + batch, blocks); block++) addBlock();
      store.meta.put('sequence', sequence);
    });
  }
  return counts;
}

export const rawQuery = (filter: ScanFilter): RawQuery => ({
  workspaceNo: 1,
  fromMs,
  endMs: fromMs + days * dayMs,
  filter,
  of: 'workspaces',
});
