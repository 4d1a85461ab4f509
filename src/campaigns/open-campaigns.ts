/** The room as the wiring opens it: book, list, numbers, conversions, and the clock that ends campaigns. */
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
  readonly book: Campaigns;
  readonly list: CampaignList;
  readonly report: CampaignReport;
  readonly conversions: Conversions;
}

export function openCampaigns({ report, ...parts }: CampaignServicesOptions): CampaignServices {
  const conversions = new Conversions(parts);
  const campaignReport = new CampaignReport({ ...parts, report, conversions });
  return {
    book: new Campaigns({
      ...parts,
      totalsOf: async (campaign) => await campaignReport.totals(campaign),
    }),
    list: new CampaignList(parts.store, parts.clock),
    report: campaignReport,
    conversions,
  };
}
