/**
 * Lists of campaigns, newest first. The status of each follows from its dates and the clock, so a filter
 * reads the schedules in the list's index; a workspace has a bounded number of campaigns.
 * A cursor is the last campaign of a page: campaigns created or deleted meanwhile shift nothing.
 */
import { type CampaignRecord, type CampaignStatus, campaignStatusAt } from '../model/campaign.ts';
import type { Clock } from '../model/clock.ts';
import { formatCursor, parseCursor } from '../model/cursor.ts';
import type { PackedSchedule } from '../store/management/product-tables.ts';
import type { Management } from '../store/management/management.ts';
import type { WorkspaceNo } from '../model/numbers.ts';

const numberMax = 2 ** 32 - 1;

export interface CampaignPageRequest {
  readonly status?: CampaignStatus | undefined;
  /** From 1; a cursor wins. */
  readonly page: number;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

export interface CampaignPage {
  readonly data: CampaignRecord[];
  readonly total: number;
  /** Campaigns of the page that are left out, because their record is damaged. */
  readonly unreadable: number;
  /** Absent on the last page. */
  readonly nextCursor?: string;
}

export class CampaignList {
  readonly #store: Management;
  readonly #clock: Clock;

  constructor(store: Management, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** @throws Failure validation_failed for a cursor of another list */
  page(
    workspaceNo: WorkspaceNo,
    { status, page, limit, cursor }: CampaignPageRequest,
  ): CampaignPage {
    const [before] = cursor === undefined ? [] : parseCursor(cursor, 1);
    const numbers = this.#numbers(workspaceNo, status);
    const first =
      before === undefined ? (page - 1) * limit : numbers.findIndex((no) => no < before);
    const start = first === -1 ? numbers.length : first;
    const data: CampaignRecord[] = [];
    let unreadable = 0;
    const shownNumbers = numbers.slice(start, start + limit);
    for (const no of shownNumbers) {
      const campaign = this.#store.campaigns.campaigns.get(no, () => 'damaged' as const);
      if (campaign === 'damaged') unreadable++;
      else if (campaign !== undefined) data.push(campaign);
    }
    const last = shownNumbers.at(-1);
    const isMore = start + limit < numbers.length && last !== undefined;
    const total = numbers.length;
    const shown = { data, total, unreadable };
    return isMore ? { ...shown, nextCursor: formatCursor(last) } : shown;
  }

  /** Newest first. */
  #numbers(workspaceNo: WorkspaceNo, status: CampaignStatus | undefined): number[] {
    const { workspaceCampaigns } = this.#store.campaigns;
    const range = {
      start: [workspaceNo, numberMax] satisfies [number, number],
      end: [workspaceNo, 0] satisfies [number, number],
      reverse: true,
    };
    if (status === undefined) return Array.from(workspaceCampaigns.keys(range), ([, no]) => no);
    const nowMs = this.#clock.now();
    const numbers: number[] = [];
    for (const { key, value } of workspaceCampaigns.range(range)) {
      if (statusOf(value, nowMs) === status) numbers.push(key[1]);
    }
    return numbers;
  }
}

function statusOf([startDay, endDay, isEnded]: PackedSchedule, nowMs: number): CampaignStatus {
  if (isEnded === 1) return 'ended';
  return campaignStatusAt({ startDay, ...(endDay < 0 ? {} : { endDay }) }, nowMs);
}
