/** Thread entry of requests to targets: a stranger's hostile answer must not block the control thread. */
import { systemClock } from '../../system-clock.ts';
import { threadEntry } from '../../workers/entry.ts';
import { openNameLookup } from './name-lookup.ts';
import {
  type TargetRequest,
  TargetRequests,
  type TargetRequestSettings,
} from './target-request.ts';

// undici creates an error for each header above the limit, thousands a chunk; their stacks would cost 90 ms.
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
