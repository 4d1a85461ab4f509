/** Thread entry of requests to targets: a stranger's hostile answer must not block the control thread. */
import type { AttemptSettings } from '../../model/webhook.ts';
import type { TargetRequest } from '../../model/watches/watch.ts';
import { systemClock } from '../../platform/system-clock.ts';
import { threadEntry } from '../../platform/workers/entry.ts';
import { Attempts } from '../../webhooks/attempt/attempt.ts';
import { openNameLookup } from '../../webhooks/attempt/name-lookup.ts';

// undici creates an error for each header above the limit, thousands a chunk; their stacks would cost 90 ms.
Error.stackTraceLimit = 0;

let requests: Attempts | undefined;

// The settings are the same in every task of a pool.
export default threadEntry(
  async ({ settings, ...request }: TargetRequest & { readonly settings: AttemptSettings }) => {
    requests ??= new Attempts({
      settings,
      clock: systemClock,
      names: openNameLookup({ clock: systemClock }),
    });
    return await requests.check(request);
  },
);
