/** Reports as the application opens them: records, the pages of their links, and digests. */
import type { CampaignRecord } from '../../model/campaign.ts';
import type { Clock } from '../../model/clock.ts';
import type { IdSource } from '../../model/ids.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';
import { type Brand, isSilent } from '../../model/routing/pages.ts';
import { type Calendar, calendarOf, utcCalendar } from '../../model/zones/calendar.ts';
import type { Subject } from '../../engine/analytics/subject.ts';
import type { ScanQueries } from '../../engine/analytics/queries.ts';
import type { Management } from '../../store/management/management.ts';
import type { WorkspaceServices } from '../workspaces/services.ts';
import { DigestNumbers, type DigestNumbersOptions } from './digests/digest-numbers.ts';
import { Digests } from './digests/digests.ts';
import { LinkTokens } from './link-tokens.ts';
import { ReportPages } from './report-pages.ts';
import { Reports, type ReportsOptions } from './reports.ts';

export interface ReportServicesOptions extends Pick<ReportsOptions, 'campaigns'> {
  readonly store: Management;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly workspaces: Pick<WorkspaceServices, 'workspaces' | 'linkCipher'>;
  readonly codes: ReportsOptions['codes'] & DigestNumbersOptions['codes'];
  readonly campaignScans: (campaign: CampaignRecord) => Subject;
  readonly scans: Pick<ScanQueries, 'analytics' | 'topCodes'>;
  /** Of a workspace without one of its own. */
  readonly brand: Brand;
}

export interface ReportServices {
  readonly reports: Reports;
  readonly pages: ReportPages;
  readonly digests: Digests;
  readonly digestNumbers: DigestNumbers;
}

export function openReports(options: ReportServicesOptions): ReportServices {
  const { scans, brand } = options;
  const { workspaces, linkCipher } = options.workspaces;
  const tokens = new LinkTokens(linkCipher);
  const reports = new Reports({ ...options, tokens });
  const brandOf = (workspaceNo: WorkspaceNo): Brand => {
    const pages = workspaces.pagesOf(workspaceNo);
    return isSilent({ ...pages, texts: {} }) ? brand : pages.brand;
  };
  const zoneOf = (workspaceNo: WorkspaceNo): Calendar =>
    calendarOf(workspaces.find(workspaceNo)?.timezone ?? utcCalendar.zone) ?? utcCalendar;
  const shown = { ...options, scans: scans.analytics, brandOf, calendarOf: zoneOf };
  return {
    reports,
    pages: new ReportPages({ ...shown, reports }),
    digests: new Digests({
      ...options,
      tokens,
      weeksOf: (workspaceNo) => ({
        calendar: zoneOf(workspaceNo),
        weekStart: workspaces.find(workspaceNo)?.weekStart ?? 'mon',
      }),
    }),
    digestNumbers: new DigestNumbers({ ...options, workspaces, calendarOf: zoneOf }),
  };
}
