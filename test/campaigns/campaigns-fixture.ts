/** The application with campaigns: scans as a test wants them, and counting that is as far as a test says. */
import type { CampaignScans } from '../../src/campaigns/campaign-analytics.ts';
import type { Counting, CountingMark } from '../../src/campaigns/campaign-scheduler.ts';
import { dayMs, type DayRange, isoTime, parseDay } from '../../src/model/day.ts';
import type { Subject } from '../../src/scans/query/subject.ts';
import { actor } from '../codes/codes-fixture.ts';
import { FakeScans } from '../support/fakes/fake-scans.ts';
import { openTestApp, type TestApp } from '../support/test-app.ts';

/** A scan: whose code, on which day, by whom. */
export interface FixtureScan {
  readonly codeNo: number;
  readonly day: number;
  readonly scanner: string;
}

/** Counts a plain list of scans. */
export class PlainScans implements CampaignScans {
  readonly list: FixtureScan[] = [];

  #of(subject: Subject, { fromDay, toDay }: DayRange): FixtureScan[] {
    const wanted = new Set('codes' in subject ? subject.codes : []);
    return this.list.filter(
      ({ codeNo, day }) => wanted.has(codeNo) && day >= fromDay && day <= toDay,
    );
  }
  async totals(subject: Subject, range: DayRange) {
    const found = this.#of(subject, range);
    return {
      totalScans: found.length,
      uniqueScanners: new Set(found.map(({ scanner }) => scanner)).size,
      devices: { ios: 0, android: 0, other: found.length },
      topCountries: [],
    };
  }
  async series(subject: Subject, range: DayRange) {
    const days = Array.from({ length: range.toDay - range.fromDay + 1 }, (_, at) => ({
      fromDay: range.fromDay + at,
      toDay: range.fromDay + at,
    }));
    return days.map((day) => ({
      start: isoTime(day.fromDay * dayMs),
      scans: this.#of(subject, day).length,
    }));
  }
  async scansByCode(subject: Subject, range: DayRange) {
    return Array.from('codes' in subject ? subject.codes : [], (codeNo) => ({
      codeNo,
      scans: this.#of({ codes: [codeNo] }, range).length,
    })).filter(({ scans }) => scans > 0);
  }
}

/** Counting that is as far as a test says. */
export class HandCounting implements Counting {
  journaled = 0;
  counted = 0;
  /** Where the journals end whenever somebody asks: nothing waits to be counted. */
  isPrompt = true;

  mark(): CountingMark {
    const { journaled } = this;
    return { isPast: () => this.isPrompt || this.counted >= journaled };
  }
}

export interface CampaignsFixture {
  /** Another after `restart`. */
  app: TestApp;
  readonly scans: PlainScans;
  readonly counting: HandCounting;
  /** Data of the emitted events of a kind, oldest first. */
  emitted(kind: 'campaign.created' | 'campaign.ended'): Array<Readonly<Record<string, unknown>>>;
  /** As many codes as asked; ids. */
  codes(count: number): Promise<string[]>;
  restart(): Promise<void>;
}

export async function openCampaignsFixture(): Promise<CampaignsFixture> {
  const scans = new PlainScans();
  const counting = new HandCounting();
  const analytics = Object.assign(new FakeScans().analytics, plainQueries(scans));
  const fixture: CampaignsFixture = {
    app: await openTestApp({
      plan: 'none',
      counting,
      scans: Object.assign(new FakeScans(), { analytics }),
    }),
    scans,
    counting,
    emitted: (kind) =>
      fixture.app.outbox
        .after(0, 10_000)
        .filter((event) => event.kind === kind)
        .map(({ body }) => dataOf(body)),
    async codes(count) {
      const drafts = Array.from({ length: count }, () => ({ target: 'https://example.com/' }));
      const made = await fixture.app.codes.createMany(actor, drafts);
      return made.map((code) => ('id' in code ? code.id : ''));
    },
    async restart() {
      fixture.app = await fixture.app.restart();
    },
  };
  return fixture;
}

/** The parts of a fixture that is not restarted, and the ids of up to three codes. */
export async function openParts(count = 0) {
  const fixture = await openCampaignsFixture();
  const { app } = fixture;
  const [a = '', b = '', c = ''] = await fixture.codes(count);
  return {
    ...app.campaigns,
    fixture,
    codes: app.codes,
    clock: app.clock,
    tick: () => app.campaignScheduler.tick(),
    a,
    b,
    c,
  };
}

const plainQueries = (scans: PlainScans): CampaignScans => ({
  totals: (subject, range) => scans.totals(subject, range),
  series: (subject, range) => scans.series(subject, range),
  scansByCode: (subject, range) => scans.scansByCode(subject, range),
});

export function dayNumber(text: string): number {
  const day = parseDay(text);
  if (day === undefined) throw new Error(`Not a day: ${text}`);
  return day;
}

function dataOf(body: string): Readonly<Record<string, unknown>> {
  const event: { readonly data: Readonly<Record<string, unknown>> } = JSON.parse(body);
  return event.data;
}
