/**
 * Thread entry of requests to targets: strangers answer them, and what undici makes of a hostile answer must not hold the
 * control thread up. A few side by side, each on its own (target-request.ts).
 */
import { systemClock } from '../../system-clock.ts';
import { threadEntry } from '../../workers/entry.ts';
import { openNameLookup } from './name-lookup.ts';
import {
  type TargetRequest,
  TargetRequests,
  type TargetRequestSettings,
} from './target-request.ts';

// undici creates an error per header beyond the bound, thousands in a chunk: with stacks that takes 90 ms a chunk.
Error.stackTraceLimit = 0;

let requests: TargetRequests | undefined;

// The settings are the same in every task of a pool.
export default threadEntry(
  async ({
    settings,
    ...request
  }: TargetRequest & { readonly settings: TargetRequestSettings }) => {
    requests ??= new TargetRequests({
      settings,
      clock: systemClock,
      names: openNameLookup({ clock: systemClock }),
    });
    return await requests.send(request);
  },
);
