/** Campaigns that take codes, for choices: those that run, then those to come. */
import { useResource } from '../../client/resource.ts';
import type { Page as PageOf } from '../../client/wire.ts';
import type { Campaign } from './campaign-labels.ts';

/** Of each status, the newest. */
const limit = 100;

/** @returns undefined while they are loaded */
export function useOpenCampaigns(): readonly Campaign[] | undefined {
  const active = useResource<PageOf<Campaign>>(`/campaigns?limit=${limit}&status=active`);
  const scheduled = useResource<PageOf<Campaign>>(`/campaigns?limit=${limit}&status=scheduled`);
  if (active.data === undefined || scheduled.data === undefined) return undefined;
  return [...active.data.data, ...scheduled.data.data];
}
