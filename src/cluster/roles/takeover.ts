/** Nodes of a cluster are restarted one by one, and never taken over. */
import { NodeError } from '../nodes/node-error.ts';
import type { TakeoverHost } from '../../app/upgrade/host-takeovers.ts';
import { dataVersions } from '../../app/modules.ts';
import { shipped } from '../../platform/shipped.ts';

const refusal =
  'a node of a cluster stops and starts alone (restart it), and the others serve meanwhile';

/** @throws NodeError */
export function assertNoTakeover(takeover: true | undefined): void {
  if (takeover !== undefined) throw new NodeError(`Cannot take over: ${refusal}`);
}

const refused = (): Promise<never> => Promise.reject(new Error(`Cannot be taken over: ${refusal}`));

/** Refuses every takeover. */
export const noTakeovers: TakeoverHost = {
  release: shipped.version,
  dataVersions,
  journals: [],
  ports: [],
  refusal,
  hasYielded: false,
  yield: refused,
  finish: refused,
  ended: () => undefined,
  orphaned: () => undefined,
};
