/**
 * The tables of campaigns and conversions, in the management environment: a campaign, its codes, its
 * timer and its events commit together.
 *
 *   campaigns            campaignNo                                           -> CampaignRecord
 *   campaign_ids         "cmp_…"                                              -> campaignNo
 *   workspace_campaigns  [workspaceNo, campaignNo]                            -> PackedSchedule: the list
 *   campaign_due         [endMs, campaignNo]                                  -> 1: the durable timer
 *   campaign_codes       [campaignNo, codeNo]                                 -> PackedMember
 *   code_campaigns       [codeNo, campaignNo]                                 -> 1
 *   conversion_days      [codeNo, day]                                        -> PackedConversions
 *   conversion_keys      [workspaceNo, externalId]                            -> ConversionRecord
 *   conversion_expiry    [removeAtMs, workspaceNo, externalId]                -> 1, to expire it
 *
 * Membership is what campaign_codes says; code_campaigns is the same the other way, and the term
 * `campaign` of the list's index (code-keys.ts) the same again for live codes.
 */
import type { CampaignRecord } from '../../model/campaign.ts';
import type { StoreEnvironment } from '../environment.ts';

/** What a list filters by, without decoding the record. `endDay`: -1 = none; `isEnded`: its end was emitted. */
export type PackedSchedule = readonly [startDay: number, endDay: number, isEnded: 0 | 1];

/**
 * A code in a campaign: its place in the list, what its key in the list's index needs, its id, and
 * whether it was deleted; a deleted one still counts until its analytics go.
 */
export type PackedMember = readonly [
  place: number,
  createdAtMs: number,
  qrCodeId: string,
  isDeleted: 0 | 1,
];

/** Conversions of a code and day, and the sum of their values in ten-thousandths. */
export type PackedConversions = readonly [count: number, valueParts: number];

/** A conversion that named itself: what a repetition is compared with and answered. */
export interface ConversionRecord {
  readonly qrCodeId: string;
  readonly value: number | null;
  readonly createdAtMs: number;
  readonly removeAtMs: number;
}

export function openCampaignTables(environment: StoreEnvironment) {
  return {
    campaigns: environment.table<number, CampaignRecord>('campaigns', { key: 'uint32' }),
    campaignIds: environment.table<string, number>('campaign_ids'),
    workspaceCampaigns: environment.table<[number, number], PackedSchedule>('workspace_campaigns'),
    campaignDue: environment.set<[number, number]>('campaign_due'),
    campaignCodes: environment.table<[number, number], PackedMember>('campaign_codes'),
    codeCampaigns: environment.set<[number, number]>('code_campaigns'),
    conversionDays: environment.table<[number, number], PackedConversions>('conversion_days'),
    conversionKeys: environment.table<[number, string], ConversionRecord>('conversion_keys'),
    conversionExpiry: environment.set<[number, number, string]>('conversion_expiry'),
  };
}
