/** Campaigns as the application opens them: records, lists, numbers and conversions. */
import type { Clock } from '../model/clock.ts';
import type { IdSource } from '../model/ids.ts';
import type { Outbox } from '../outbox/outbox.ts';
import type { Management } from '../store/management/management.ts';
import { Campaigns } from './campaigns.ts';
import type { CampaignCodes } from './campaign-codes.ts';
import { CampaignList } from './campaign-list.ts';
import { CampaignReport, type ManyCodesReport } from './campaign-report.ts';
import { Conversions } from './conversions.ts';

export interface CampaignServicesOptions {
  readonly store: Management;
  readonly outbox: Outbox;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly codes: CampaignCodes;
  readonly report: ManyCodesReport;
}

export interface CampaignServices {
  readonly campaigns: Campaigns;
  readonly list: CampaignList;
  readonly report: CampaignReport;
  readonly conversions: Conversions;
}

export function openCampaigns({ report, ...parts }: CampaignServicesOptions): CampaignServices {
  const conversions = new Conversions(parts);
  const campaignReport = new CampaignReport({ ...parts, report, conversions });
  return {
    campaigns: new Campaigns({
      ...parts,
      totalsOf: (campaign) => campaignReport.totals(campaign),
    }),
    list: new CampaignList(parts.store, parts.clock),
    report: campaignReport,
    conversions,
  };
}
