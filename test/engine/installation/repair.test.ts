/** What a repair sets aside, begins anew and keeps; that it ends whole from wherever it was stopped. */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { openDataFolder } from '../../../src/engine/data-folder.ts';
import { inspectFolder, type OnStep } from '../../../src/engine/installation/installation.ts';
import { isRepairable, planRepair, repair } from '../../../src/engine/installation/repair.ts';
import { openDeliveryTables } from '../../../src/store/delivery/open-delivery.ts';
import { openManagement } from '../../../src/store/management/management.ts';
import { openScanStore } from '../../../src/store/scans/scans.ts';
import { faultsIn, makeFolders, mark, put, randomBytes } from './folders.ts';

const nowMs = Date.UTC(2026, 10, 22, 9, 42);
const suffix = '.set-aside-20261122T094200000Z';

let parent: string;
let first: string;
let later: string;
let other: string;
let unmarked: string;
let data: string;

beforeAll(async () => {
  ({ parent, first, later, other, unmarked, data } = await makeFolders());
});
afterAll(() => rmSync(parent, { recursive: true, force: true }));
beforeEach(() => {
  rmSync(data, { recursive: true, force: true });
  cpSync(later, data, { recursive: true });
});

async function repaired(onStep?: OnStep): Promise<string[]> {
  const folder = openDataFolder(data);
  const inspection = await inspectFolder(folder);
  return await repair(folder, inspection, { nowMs, randomBytes, ...(onStep && { onStep }) });
}
const texts = async (): Promise<string[]> =>
  planRepair(await inspectFolder(openDataFolder(data))).map(({ part, text }) => `${part} ${text}`);
const filesAside = (): string[] => readdirSync(data).filter((name) => name.endsWith(suffix));

describe.each([
  ['scans.mdb', 'all statistics'],
  ['delivery.mdb', 'webhook deliveries'],
  ['journal', 'answered scans that were not counted yet'],
  ['signing-keys.json', 'all API keys and the secrets of webhook endpoints'],
  ['visitor.key', 'the link between visitors'],
])('%s', (part, loss) => {
  it('that is missing is begun anew, and what that gives up is said', async () => {
    rmSync(join(data, part), { recursive: true });
    expect(await texts()).toEqual([
      expect.stringContaining(`${part} is begun anew; given up: ${loss}`),
    ]);
    expect(await repaired()).toEqual([]);
    expect(await faultsIn(data)).toEqual([]);
    await mark(data);
    expect(await faultsIn(data)).toEqual([]);
  });

  it('of another installation is set aside, and the way back', async () => {
    put(data, part, other);
    expect(await repaired()).toEqual([`${part}${suffix}`]);
    expect([await faultsIn(data), filesAside()]).toEqual([[], [`${part}${suffix}`]]);
    rmSync(join(data, part), { recursive: true });
    cpSync(join(data, `${part}${suffix}`), join(data, part), { recursive: true });
    expect(await faultsIn(data)).toHaveLength(1);
  });
});

test.each(['scans.mdb', 'delivery.mdb', 'journal', 'management.mdb'])(
  'an older copy of %s is kept, and marked',
  async (part) => {
    put(data, part, first);
    expect(await texts()).toEqual([
      expect.stringContaining(`${part} is kept as it is; given up: what happened between`),
    ]);
    expect(await repaired()).toEqual([]);
    expect([await faultsIn(data), filesAside()]).toEqual([[], []]);
    put(data, part, later);
    expect(await faultsIn(data)).toHaveLength(1);
  },
);

test.each([
  ['missing', () => rmSync(join(data, 'management.mdb'))],
  ['empty', () => writeFileSync(join(data, 'management.mdb'), '')],
  ['of another installation', () => put(data, 'management.mdb', other)],
])('a management.mdb that is %s is not repaired', async (_state, change) => {
  change();
  const inspection = await inspectFolder(openDataFolder(data));
  const [step] = planRepair(inspection);
  expect(step?.text).toMatch(/^cannot be repaired, .* restore a backup/);
  expect(isRepairable(planRepair(inspection))).toBe(false);
  const before = readdirSync(data);
  await expect(repaired()).rejects.toThrow(/management.mdb is lost/);
  expect(readdirSync(data)).toEqual(before);
});

test.each([
  ['of this release', () => later],
  ['of a release without marks', () => unmarked],
])('stopped at any step, data %s: a start is refused until it is repaired', async (_what, from) => {
  for (let stopAt = 1, isWhole = false; !isWhole; stopAt++) {
    rmSync(data, { recursive: true });
    cpSync(from(), data, { recursive: true });
    for (const part of ['scans.mdb', 'journal', 'visitor.key']) {
      rmSync(join(data, part), { recursive: true });
    }
    let steps = 0;
    const stop = new Error('stopped');
    let stoppedAt = '';
    isWhole = await repaired((step) => {
      if (++steps < stopAt) return;
      stoppedAt = step;
      throw stop;
    }).then(
      () => true,
      (error: unknown) => {
        if (error !== stop) throw error;
        return false;
      },
    );
    const found = await inspectFolder(openDataFolder(data));
    // Data that had no marks has them all before the last step: a start goes on from there.
    const isMarked = from() === unmarked && stoppedAt === 'opened';
    expect(found.faults.length > 0).toBe(!isWhole && !isMarked);
    expect(isRepairable(planRepair(found))).toBe(true);
    await repaired();
    expect(await faultsIn(data)).toEqual([]);
    await mark(data);
    expect(await faultsIn(data)).toEqual([]);
  }
});

test('deliveries begin with what happens from now on, and old results of attempts are set aside', async () => {
  const management = openManagement(join(data, 'management.mdb'));
  management.environment.transactionSync(() => management.meta.put('next:event', 42));
  await management.close();
  const scans = openScanStore(join(data, 'scans.mdb'));
  scans.environment.transactionSync(() => scans.meta.put('sequence', 17));
  await scans.environment.close();
  writeFileSync(join(data, 'delivery.results.0'), 'old');
  rmSync(join(data, 'delivery.mdb'));
  expect(await repaired()).toEqual([`delivery.results.0${suffix}`]);
  expect(readFileSync(join(data, `delivery.results.0${suffix}`), 'utf8')).toBe('old');
  const delivery = openDeliveryTables(join(data, 'delivery.mdb'));
  expect(delivery.positions.get('events')).toEqual([41, 0]);
  expect(delivery.positions.get('scans')).toEqual([17, 0]);
  await delivery.environment.close();
});

test('journals that are begun anew keep their positions', async () => {
  const scans = openScanStore(join(data, 'scans.mdb'));
  scans.environment.transactionSync(() => {
    for (let partition = 0; partition < 64; partition++) scans.watermarks.put(64 + partition, 900);
  });
  await scans.environment.close();
  rmSync(join(data, 'journal'), { recursive: true });
  mkdirSync(join(data, 'journal'));
  await repaired();
  expect(readdirSync(join(data, 'journal', '1'))).toEqual(['0000000000000900.log']);
});
