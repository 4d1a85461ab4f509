/**
 * Nodes of a cluster are restarted one by one, and taken over by none. What opens the data files beside a node is let in
 * like beside any service.
 */
import { NodeError } from '../cluster/nodes/node-error.ts';
import type { TakeoverHost } from '../engine/takeover/successor-connection.ts';
import { dataVersions } from '../modules.ts';
import { shipped } from '../shipped.ts';

const refusal =
  'a node of a cluster stops and starts alone (restart it), and the others serve meanwhile';

/** @throws NodeError */
export function assertNoTakeover(takeover: true | undefined): void {
  if (takeover !== undefined) throw new NodeError(`Cannot take over: ${refusal}`);
}

const refused = (): Promise<never> => Promise.reject(new Error(`Cannot be taken over: ${refusal}`));

/** None gets past its refusal. */
export const noTakeovers: TakeoverHost = {
  release: shipped.version,
  dataVersions,
  journals: [],
  ports: [],
  refusal,
  yield: refused,
  tails: () => [],
  finish: refused,
  takeBack: refused,
  follow: refused,
  ended: () => undefined,
};
