/**
 * Serves the page of a shared link. Reads its numbers at most every half minute.
 *
 *   token -> the report, if it is active now -> the page of this half minute: cached, or made
 *
 * Every request checks the link, so a revoked one ends at once. A link costs at most four ranges of reading in half a
 * minute; the cache is bounded, and concurrent requests share one page.
 */
import { LRUCache } from 'lru-cache';
import type { CampaignRecord } from '../../model/campaign.ts';
import type { Clock } from '../../model/clock.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';
import type { ReportRange, ReportRecord } from '../../model/reports/report.ts';
import type { Brand } from '../../model/routing/pages.ts';
import { type Calendar, calendarOf, utcCalendar } from '../../model/zones/calendar.ts';
import type { Subject } from '../../engine/analytics/subject.ts';
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
