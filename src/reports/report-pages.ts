/**
 * What a link opens: the page of its report, read anew every half minute.
 *
 *   token -> the report, if it is active now -> the page of this half minute: kept, being made, or made
 *
 * Whether a link still works is asked every time, so a revoked one ends at once, whatever is kept. Who has a link costs
 * the service the reading of four ranges in half a minute, however often it is opened; the cache is bounded, and pages
 * that are asked for at the same time are made once.
 */
import { LRUCache } from 'lru-cache';
import type { CampaignRecord } from '../model/campaign.ts';
import type { Clock } from '../model/clock.ts';
import type { WorkspaceNo } from '../model/numbers.ts';
import type { ReportRange, ReportRecord } from '../model/reports/report.ts';
import type { Brand } from '../model/routing/pages.ts';
import { type Calendar, calendarOf, utcCalendar } from '../model/zones/calendar.ts';
import type { Subject } from '../scans/query/subject.ts';
import type { FramedPage } from './page/frame.ts';
import { reportPage } from './page/report-page.ts';
import { momentText, zoneText } from './labels.ts';
import { periodOf, readLocal, readNumbers, type ReportScans } from './report-numbers.ts';
import type { Reports, ReportSubject } from './reports.ts';

/** How old the numbers of a page may be. */
const keptMs = 30_000;
/** About 30 KB each. */
const pagesMax = 256;

export interface ReportPagesOptions {
  readonly reports: Pick<Reports, 'find'>;
  readonly scans: ReportScans;
  readonly campaignScans: (campaign: CampaignRecord) => Subject;
  readonly brandOf: (workspaceNo: WorkspaceNo) => Brand;
  readonly calendarOf: (workspaceNo: WorkspaceNo) => Calendar;
  readonly clock: Clock;
}

export class ReportPages {
  readonly #options: ReportPagesOptions;
  readonly #pages = new LRUCache<string, Promise<FramedPage>>({ max: pagesMax });

  constructor(options: ReportPagesOptions) {
    this.#options = options;
  }

  /**
   * @param range absent = the report's own
   * @returns undefined when the token opens nothing now @throws Failure overloaded
   */
  async find(token: string, range: ReportRange | undefined): Promise<FramedPage | undefined> {
    const found = this.#options.reports.find(token);
    if (found === undefined) return undefined;
    const { record, subject } = found;
    const shown = range ?? record.range;
    const nowMs = this.#options.clock.now();
    const key = `${record.id} ${shown} ${Math.floor(nowMs / keptMs)}`;
    const kept = this.#pages.get(key);
    if (kept !== undefined) return await kept;
    const page = this.#make(record, subject, shown, nowMs);
    this.#pages.set(key, page);
    try {
      return await page;
    } catch (error) {
      this.#pages.delete(key);
      throw error;
    }
  }

  async #make(
    record: ReportRecord,
    subject: ReportSubject,
    range: ReportRange,
    nowMs: number,
  ): Promise<FramedPage> {
    const { scans, campaignScans, brandOf } = this.#options;
    const counted: Subject =
      subject.kind === 'code'
        ? { code: subject.code.no, workspace: record.workspaceNo }
        : campaignScans(subject.campaign);
    return await readLocal(this.#calendarOf(record), async (calendar) => {
      const period = periodOf(subject, range, calendar, nowMs);
      return reportPage({
        title: record.title ?? nameOf(subject),
        kind: subject.kind,
        brand: brandOf(record.workspaceNo),
        range,
        zone: zoneText(calendar.zone),
        numbers: period && (await readNumbers(scans, counted, period)),
        readAt: momentText(calendar, nowMs),
      });
    });
  }

  /** Of the report, or of its workspace; UTC where this runtime does not know the zone. */
  #calendarOf({ timezone, workspaceNo }: ReportRecord): Calendar {
    if (timezone === undefined) return this.#options.calendarOf(workspaceNo);
    return calendarOf(timezone) ?? utcCalendar;
  }
}

const nameOf = (subject: ReportSubject): string =>
  subject.kind === 'code' ? (subject.code.name ?? 'QR code') : subject.campaign.name;
