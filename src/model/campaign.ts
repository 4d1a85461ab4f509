/**
 * The campaign: codes and a schedule of UTC days, both included.
 *
 *              start of startDay       start of the day after endDay       campaign.ended is emitted
 *   scheduled ---------|------ active ----------|------- ending ---------------|------ ended
 *
 * Only the last transition is stored (`end`). The API shows `ending` as `ended`: the totals are final within a minute.
 */
import { dayMs } from './day.ts';
import type { WorkspaceNo } from './numbers.ts';

export const campaignStatuses = ['scheduled', 'active', 'ended'] as const;
export type CampaignStatus = (typeof campaignStatuses)[number];

export interface CampaignEnd {
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
  readonly endDay?: number;
  readonly createdBy: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly end?: CampaignEnd;
}

export const campaignCodesMax = 1_000;
/** Campaigns of a code: a deletion removes it from all of them in one transaction. */
export const codeCampaignsMax = 100;

type Dates = Pick<CampaignRecord, 'startDay' | 'endDay' | 'end'>;

export function campaignStateAt(
  { startDay, endDay, end }: Dates,
  nowMs: number,
): CampaignStatus | 'ending' {
  if (end !== undefined) return 'ended';
  if (endDay !== undefined && nowMs >= endOfCampaignMs(endDay)) return 'ending';
  return nowMs < startDay * dayMs ? 'scheduled' : 'active';
}

export function campaignStatusAt(dates: Dates, nowMs: number): CampaignStatus {
  const state = campaignStateAt(dates, nowMs);
  return state === 'ending' ? 'ended' : state;
}

export function endOfCampaignMs(endDay: number): number {
  return (endDay + 1) * dayMs;
}

/** Whether codes may be added and removed: not after the end. */
export function takesCodes(dates: Dates, nowMs: number): boolean {
  const state = campaignStateAt(dates, nowMs);
  return state === 'scheduled' || state === 'active';
}
