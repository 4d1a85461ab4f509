/**
 * The campaign: codes and a schedule of whole UTC days, both ends included.
 *
 *              start of startDay       start of the day after endDay       campaign.ended is out
 *   scheduled ---------|------ active ----------|------- ending ---------------|------ ended
 *
 * Only the last border is stored (`end`); the others follow from the dates and the clock, so nothing has
 * to happen at them. For the outside `ending` is `ended`: its totals are final within a minute.
 */
import { dayMs } from './day.ts';
import type { WorkspaceNo } from './numbers.ts';

export const campaignStates = ['scheduled', 'active', 'ending', 'ended'] as const;
export type CampaignState = (typeof campaignStates)[number];

/** What the wire calls a state. */
export const campaignStatuses = ['scheduled', 'active', 'ended'] as const;
export type CampaignStatus = (typeof campaignStatuses)[number];

/** What a campaign came to: the data of its `campaign.ended`. */
export interface CampaignEnd {
  /** When it was emitted. */
  readonly atMs: number;
  readonly totalScans: number;
  readonly uniqueScanners: number;
  readonly conversions: number;
  readonly conversionRate: number;
}

export interface CampaignRecord {
  readonly id: string;
  /** Dense, from 1. */
  readonly no: number;
  readonly workspaceNo: WorkspaceNo;
  readonly name: string;
  readonly startDay: number;
  /** Absent = it has no end. */
  readonly endDay?: number;
  readonly createdBy: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly end?: CampaignEnd;
}

/** Codes a campaign has at most, deleted ones apart. */
export const campaignCodesMax = 1_000;
/** Campaigns a code is in at most: deleting it takes it out of each in one transaction. */
export const codeCampaignsMax = 100;

type Dates = Pick<CampaignRecord, 'startDay' | 'endDay' | 'end'>;

export function campaignStateAt({ startDay, endDay, end }: Dates, nowMs: number): CampaignState {
  if (end !== undefined) return 'ended';
  if (endDay !== undefined && nowMs >= endOfCampaignMs(endDay)) return 'ending';
  return nowMs < startDay * dayMs ? 'scheduled' : 'active';
}

export function campaignStatusAt(dates: Dates, nowMs: number): CampaignStatus {
  const state = campaignStateAt(dates, nowMs);
  return state === 'ending' ? 'ended' : state;
}

/** The first moment that is not in the campaign any more. */
export function endOfCampaignMs(endDay: number): number {
  return (endDay + 1) * dayMs;
}

/** Whether codes still come and go: from its end on, a campaign is what it was. */
export function takesCodes(dates: Dates, nowMs: number): boolean {
  const state = campaignStateAt(dates, nowMs);
  return state === 'scheduled' || state === 'active';
}
