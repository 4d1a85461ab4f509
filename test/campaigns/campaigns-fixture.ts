/** Campaigns on a real store with real codes, a clock that is moved by hand, and scans as a test wants them. */
import { createIdSource } from '../../src/model/ids.ts';
import { openCampaigns, type CampaignServices } from '../../src/campaigns/open-campaigns.ts';
import type { ManyCodesReport } from '../../src/campaigns/campaign-report.ts';
import { CampaignScheduler, type Counting } from '../../src/campaigns/campaign-scheduler.ts';
import { parseDay } from '../../src/model/day.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { actor, openDesk, type Desk } from '../codes/codes-fixture.ts';
import { getRandomValues } from 'node:crypto';

/** A scan: whose code, on which day, by whom. */
export interface FixtureScan {
  readonly codeNo: number;
  readonly day: number;
  readonly scanner: string;
}

/** Counts a plain list of scans. */
export class PlainReport implements ManyCodesReport {
  readonly scans: FixtureScan[] = [];

  #of(codeNos: Iterable<number>, fromDay: number, toDay: number): FixtureScan[] {
    const wanted = new Set(codeNos);
    return this.scans.filter(
      ({ codeNo, day }) => wanted.has(codeNo) && day >= fromDay && day <= toDay,
    );
  }
  async analyticsOf(codeNos: Iterable<number>, fromDay: number, toDay: number) {
    const found = this.#of(codeNos, fromDay, toDay);
    return {
      totalScans: found.length,
      uniqueScanners: new Set(found.map(({ scanner }) => scanner)).size,
      devices: { ios: 0, android: 0, other: found.length },
      topCountries: [],
    };
  }
  async breakdownOf(codeNos: Iterable<number>, fromDay: number, toDay: number) {
    return [{ key: 'ZZ', scans: this.#of(codeNos, fromDay, toDay).length }];
  }
  async timeseriesOf(codeNos: Iterable<number>, fromDay: number, toDay: number) {
    const found = this.#of(codeNos, fromDay, toDay);
    return Array.from({ length: toDay - fromDay + 1 }, (_, at) => ({
      start: new Date((fromDay + at) * 86_400_000).toISOString(),
      scans: found.filter(({ day }) => day === fromDay + at).length,
    }));
  }
  async totalsOf(codeNos: Iterable<number>, fromDay: number, toDay: number) {
    return Array.from(codeNos, (codeNo) => ({
      codeNo,
      scans: this.#of([codeNo], fromDay, toDay).length,
    })).filter(({ scans }) => scans > 0);
  }
}

/** Counting that is as far as a test says. */
export class HandCounting implements Counting {
  journaled = 0;
  counted = 0;
  /** Where the journals end whenever somebody asks: nothing waits to be counted. */
  isPrompt = true;

  mark(): ReadonlyMap<number, number> {
    return new Map([[0, this.journaled]]);
  }
  isPast(mark: ReadonlyMap<number, number>): boolean {
    return this.isPrompt || this.counted >= (mark.get(0) ?? 0);
  }
}

export interface CampaignsFixture {
  readonly desk: Desk;
  readonly report: PlainReport;
  readonly counting: HandCounting;
  readonly logLines: string[];
  services: CampaignServices;
  scheduler: CampaignScheduler;
  /** Data of the emitted events of a kind, oldest first. */
  emitted(kind: 'campaign.created' | 'campaign.ended'): Array<Readonly<Record<string, unknown>>>;
  /** As many codes as asked; ids. */
  codes(count: number): Promise<string[]>;
  restart(): Promise<void>;
}

export function openCampaignsFixture(): CampaignsFixture {
  const desk = openDesk();
  const report = new PlainReport();
  const counting = new HandCounting();
  const logLines: string[] = [];
  const log = createLog('debug', { write: (line) => void logLines.push(line) });
  const open = (): Pick<CampaignsFixture, 'services' | 'scheduler'> => {
    const { clock, outbox, book: codes } = desk;
    const ids = createIdSource(clock, getRandomValues);
    const store = desk.temporary.store;
    const services = openCampaigns({ store, outbox, ids, clock, codes, report });
    const { campaigns } = services;
    return { services, scheduler: new CampaignScheduler({ campaigns, counting, clock, log }) };
  };
  const fixture: CampaignsFixture = {
    desk,
    report,
    counting,
    logLines,
    ...open(),
    emitted: (kind) =>
      desk.outbox
        .after(0, 10_000)
        .filter((event) => event.kind === kind)
        .map(({ body }) => dataOf(body)),
    async codes(count) {
      const drafts = Array.from({ length: count }, () => ({ target: 'https://example.com/' }));
      const made = await desk.book.createMany(actor, drafts);
      return made.map((code) => ('id' in code ? code.id : ''));
    },
    async restart() {
      await desk.restart();
      Object.assign(fixture, open());
    },
  };
  return fixture;
}

export function dayNumber(text: string): number {
  const day = parseDay(text);
  if (day === undefined) throw new Error(`Not a day: ${text}`);
  return day;
}

function dataOf(body: string): Readonly<Record<string, unknown>> {
  const event: { readonly data: Readonly<Record<string, unknown>> } = JSON.parse(body);
  return event.data;
}
