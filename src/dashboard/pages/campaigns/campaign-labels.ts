/** Campaigns: the API's types, and their labels. */
import type { BadgeTone } from '../../parts/list.tsx';
import { formatUtcDay } from '../../client/format.ts';

export interface Campaign {
  readonly id: string;
  readonly name: string;
  readonly startDate: string;
  readonly endDate: string | null;
  readonly qrCodeIds: readonly string[];
  readonly status: 'scheduled' | 'active' | 'ended';
  readonly result?: {
    readonly endedAt: string;
    readonly totalScans: number;
    readonly uniqueScanners: number;
    readonly conversions: number;
    readonly conversionRate: number;
  } | null;
}

/** Only in an answer with one campaign. */
export interface CampaignWithCodes extends Campaign {
  readonly qrCodes: ReadonlyArray<{
    readonly id: string;
    readonly name: string | null;
    readonly target: string | null;
  }>;
}

export const statusTones: Readonly<Record<Campaign['status'], BadgeTone>> = {
  scheduled: 'plain',
  active: 'good',
  ended: 'warn',
};
export const statusLabels: Readonly<Record<Campaign['status'], string>> = {
  scheduled: 'Scheduled',
  active: 'Running',
  ended: 'Ended',
};

export const scheduleText = ({
  startDate,
  endDate,
}: Pick<Campaign, 'startDate' | 'endDate'>): string =>
  `${formatUtcDay(startDate)} – ${endDate === null ? 'no end' : formatUtcDay(endDate)}`;

/** Its days until today; only its first day if it has not begun. */
export function daysOfSchedule(
  { startDate, endDate }: Pick<Campaign, 'startDate' | 'endDate'>,
  today: string,
): { readonly from: string; readonly to: string } {
  const last = endDate !== null && endDate < today ? endDate : today;
  return { from: startDate, to: last > startDate ? last : startDate };
}
