/**
 * The states of a campaign and what each event does, as a complete table.
 *
 *   scheduled --(start)--> active --(day after endDate)--> ending --totals_counted--> ended
 *       ^_____________________|  reschedule_asked moves the dates, and with them the borders
 *
 * After its end the schedule and the codes are fixed, because the totals are about them.
 * `…_asked` comes from a person and may be refused with a reason; `totals_counted` comes from the campaign scheduler.
 */
import type { CampaignState } from '../model/campaign.ts';
import { Failure } from '../model/failure.ts';

export const campaignEvents = [
  'rename_asked',
  'reschedule_asked',
  'codes_asked',
  'delete_asked',
  'totals_counted',
] as const;
export type CampaignEvent = (typeof campaignEvents)[number];

/**
 * `change` writes what was asked; `remove` deletes it; `end_then_remove` ends it first, which is due;
 * `end` writes the totals and emits `campaign.ended`; `stays` does nothing.
 */
export type CampaignEffect = 'change' | 'remove' | 'end_then_remove' | 'end' | 'stays';

type Cell = CampaignEffect | { readonly refuse: string };

const over = (what: string): Cell => ({
  refuse: `The campaign has ended, its ${what} cannot be changed; expected one that has not`,
});

const beforeEnd = {
  rename_asked: 'change',
  reschedule_asked: 'change',
  codes_asked: 'change',
  delete_asked: 'remove',
  totals_counted: 'stays',
} as const;

export const campaignTransitions: Readonly<
  Record<CampaignState, Readonly<Record<CampaignEvent, Cell>>>
> = {
  scheduled: beforeEnd,
  active: beforeEnd,
  ending: {
    rename_asked: 'change',
    reschedule_asked: over('schedule'),
    codes_asked: over('codes'),
    delete_asked: 'end_then_remove',
    totals_counted: 'end',
  },
  ended: {
    rename_asked: 'change',
    reschedule_asked: over('schedule'),
    codes_asked: over('codes'),
    delete_asked: 'remove',
    totals_counted: 'stays',
  },
};

/** @throws Failure conflict when the state refuses it */
export function effectOf(state: CampaignState, event: CampaignEvent): CampaignEffect {
  const cell = campaignTransitions[state][event];
  if (typeof cell === 'string') return cell;
  throw new Failure('conflict', cell.refuse);
}
