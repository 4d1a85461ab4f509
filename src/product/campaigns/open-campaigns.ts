/** Campaigns as the application opens them: records, numbers and conversions. */
import type { Codes } from '../codes/codes.ts';
import type { Clock } from '../../model/clock.ts';
import type { IdSource } from '../../model/ids.ts';
import type { Outbox } from '../../webhooks/outbox.ts';
import type { Management } from '../../store/management/management.ts';
import { Campaigns } from './campaigns.ts';
import { CampaignAnalytics, type CampaignScans } from './campaign-analytics.ts';
import { Conversions } from './conversions.ts';

export interface CampaignServicesOptions {
  readonly store: Management;
  readonly outbox: Outbox;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly codes: Codes;
  readonly scans: CampaignScans;
}

export interface CampaignServices {
  readonly campaigns: Campaigns;
  readonly analytics: CampaignAnalytics;
  readonly conversions: Conversions;
}

export function openCampaigns(options: CampaignServicesOptions): CampaignServices {
  const conversions = new Conversions(options);
  const analytics = new CampaignAnalytics({ ...options, conversions });
  return {
    campaigns: new Campaigns({ ...options, resultOf: (campaign) => analytics.result(campaign) }),
    analytics,
    conversions,
  };
}
