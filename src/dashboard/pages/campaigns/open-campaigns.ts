/** Campaigns that accept codes: the running ones, then the scheduled ones. */
import { type Resource, useResource } from '../../client/resource.ts';
import type { Page as PageOf } from '../../client/wire.ts';
import type { Campaign } from './campaign-labels.ts';

/** The newest of each status. */
const limit = 100;

export function useOpenCampaigns(): Resource<readonly Campaign[]> {
  const active = useResource<PageOf<Campaign>>(`/campaigns?limit=${limit}&status=active`);
  const scheduled = useResource<PageOf<Campaign>>(`/campaigns?limit=${limit}&status=scheduled`);
  const isWhole = active.data !== undefined && scheduled.data !== undefined;
  return {
    data: isWhole ? [...active.data.data, ...scheduled.data.data] : undefined,
    isStale: active.isStale || scheduled.isStale,
    problem: active.problem ?? scheduled.problem,
    isLoading: active.isLoading || scheduled.isLoading,
    reload: async () => {
      await Promise.all([active.reload(), scheduled.reload()]);
    },
  };
}
