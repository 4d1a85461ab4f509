/** Days that an older program has counted, by hours of UTC alone: what can be said of them in a zone, and what cannot. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { calendarOf } from '../../../src/model/zones/calendar.ts';
import { openScanQueries, type ScanQueries } from '../../../src/scans/query/queries.ts';
import { Dimension } from '../../../src/scans/rollup.ts';
import { Summaries } from '../../../src/scans/summaries.ts';
import { checksumsFromHere, openEnvironment } from '../../../src/store/open-environment.ts';
import { openScanStore, type ScanStore, scansVersion } from '../../../src/store/scans/scans.ts';

const code = 1;
const firstDay = 20_600;
let folder: string;
let store: ScanStore;
let analytics: ScanQueries['analytics'];

/** A scan at each full hour, and one more at midnight UTC, as the program before this one has written it. */
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quietzone-older-'));
  const path = join(folder, 'scans.mdb');
  const noChange = (): void => undefined;
  const older = { ...scansVersion, version: 3, migrations: [checksumsFromHere, noChange] };
  await openEnvironment(path, older, 'create').environment.close();
  store = openScanStore(path);
  const summaries = new Summaries(store, 100);
  for (let day = firstDay; day < firstDay + 4; day++) {
    const made = summaries.emptyDay(day, 1);
    const { rollup, sketch } = made.pieces[0]!;
    for (let hour = 0; hour < 24; hour++) {
      const scans = hour === 0 ? 2 : 1;
      rollup.scans += scans;
      rollup.count(Dimension.hour, hour, scans);
      rollup.count(Dimension.country, 0x4445, scans);
      sketch.add(day * 24 + hour, hour);
    }
    store.environment.transactionSync(() => {
      if (day < firstDay + 3) summaries.closeDay(code, made);
      else summaries.putSummary(code, { total: 100, newestBlock: 0, newestDay: made });
    });
  }
  ({ analytics } = openScanQueries(store, () => undefined));
});
afterEach(async () => {
  await store.environment.close();
  rmSync(folder, { recursive: true });
});

const daysOf = (zone: string) => ({
  fromDay: firstDay + 1,
  toDay: firstDay + 2,
  calendar: calendarOf(zone)!,
});
const refusal = { faults: [{ path: 'timezone', code: 'timezone_unavailable' }] };

describe('days of an older program', () => {
  it('are in UTC what they were', async () => {
    const days = { fromDay: firstDay, toDay: firstDay + 3 };
    expect((await analytics.totals({ code }, days)).totalScans).toBe(100);
    expect((await analytics.series({ code }, days, 'day')).map(({ scans }) => scans)).toEqual([
      25, 25, 25, 25,
    ]);
    const hours = await analytics.breakdown({ code }, days, 'hour');
    expect(hours[0]).toEqual({ key: '00', scans: 8 });
  });

  it.each(['Europe/Berlin', 'America/New_York', 'Pacific/Apia'])(
    'have an exact series in %s, which is whole hours away',
    async (zone) => {
      const series = await analytics.series({ code }, daysOf(zone), 'day');
      expect(series.map(({ scans }) => scans)).toEqual([25, 25]);
      const hours = await analytics.series({ code }, daysOf(zone), 'hour');
      expect(hours).toHaveLength(48);
    },
  );

  it.each(['Asia/Kolkata', 'Asia/Kathmandu'])('have none in %s', async (zone) => {
    for (const interval of ['day', 'hour'] as const) {
      const asked = analytics.series({ code }, daysOf(zone), interval);
      await expect(asked).rejects.toMatchObject(refusal);
    }
    const asked = analytics.breakdown({ code }, daysOf(zone), 'hour_of_week');
    await expect(asked).rejects.toMatchObject(refusal);
  });

  it('have no countries and scanners by local days without raw scans', async () => {
    const asked = analytics.totals({ code }, daysOf('Europe/Berlin'));
    await expect(asked).rejects.toMatchObject(refusal);
  });

  it('are refused by that program from then on', async () => {
    const older = { ...scansVersion, version: 3, migrations: [checksumsFromHere, () => undefined] };
    expect(() => openEnvironment(join(folder, 'scans.mdb'), older)).toThrow('version 4');
  });
});
