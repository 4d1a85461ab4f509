/**
 * What the commands of a cluster ask a core, on its API's port; answered by the core itself, and never forwarded.
 *
 *   GET  /cluster/status              -> ClusterStatus
 *   GET  /cluster/copy                -> all of this core's data (copy/copy-sender.ts)
 *   POST /cluster/handover[?to=node]  -> {leader, ms}       of the leader: another one leads
 *   POST /cluster/leave?name=node     -> {name, journals}   of the leader: the node is no part of the cluster any more
 *   POST /cluster/rotate-signing   -> {kid, away}         of the leader: new API keys are signed with a new secret
 *
 * A core that does not lead sends the latter to the leader: 307 with its address.
 */
import { problemReply } from '../../api/problem.ts';
import type { Reply, Request } from '../../http/request.ts';
import { Failure, messageOf } from '../../model/failure.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { ClusterStatus } from './cluster-status.ts';
import type { MachineProof } from '../machine-proof.ts';

export interface NodeControlOptions {
  readonly proof: MachineProof;
  readonly status: () => ClusterStatus;
  /** @throws Failure overloaded */
  readonly copy: () => Reply;
  /** All of the leader. @throws Failure where it cannot be done; the message is for the operator */
  readonly handOver: (to: string | undefined) => Promise<HandoverResult>;
  readonly leave: (name: string) => Promise<LeaveResult>;
  readonly rotateSigning: () => Promise<RotationResult>;
  /** Where problems are explained. */
  readonly docsUrl: string;
  readonly log: Logger;
}

export interface HandoverResult {
  /** The node that leads now. */
  readonly leader: string;
  /** From the request until it leads. */
  readonly ms: number;
}

export interface LeaveResult {
  readonly name: string;
  /** Of all its registrations: they stay known. */
  readonly journals: readonly number[];
}

export interface RotationResult {
  /** Of the key that signs from now on. */
  readonly kid: string;
  /** Cores that are not connected. */
  readonly away: readonly string[];
}

const methods: Readonly<Record<string, string>> = {
  '/cluster/status': 'GET',
  '/cluster/copy': 'GET',
  '/cluster/handover': 'POST',
  '/cluster/leave': 'POST',
  '/cluster/rotate-signing': 'POST',
};

export class NodeControl {
  readonly #options: NodeControlOptions;

  constructor(options: NodeControlOptions) {
    this.#options = options;
  }

  /** Undefined for a request to another path. */
  reply(request: Request): Promise<Reply> | undefined {
    const method = methods[request.path];
    return method === undefined ? undefined : this.#reply(request, method);
  }

  async #reply(request: Request, method: string): Promise<Reply> {
    const { proof, docsUrl, log } = this.#options;
    try {
      const path = request.query === '' ? request.path : `${request.path}?${request.query}`;
      if (!proof.isFromMachine({ ...request, path })) {
        const why =
          'expected a signature with cluster.secret (QZ_CLUSTER_SECRET), by a clock of about this time';
        throw new Failure('unauthorized', `Cannot answer this: ${why}`);
      }
      if (request.method !== method) {
        throw new Failure('method_not_allowed', `Expected ${method} here`);
      }
      return await this.#answer(request);
    } catch (error) {
      if (error instanceof Failure) return problemReply(error, request, docsUrl);
      log.error({ err: error, requestId: request.id }, 'request failed');
      return problemReply(new Failure('outcome_unknown', messageOf(error)), request, docsUrl);
    }
  }

  async #answer({ path, query }: Request): Promise<Reply> {
    const { status, copy, handOver, leave, rotateSigning } = this.#options;
    if (path === '/cluster/copy') return copy();
    const now = status();
    if (path === '/cluster/status') return jsonReply(now);
    if (now.role !== 'active') return leaderReply(now, query === '' ? path : `${path}?${query}`);
    const parameters = new URLSearchParams(query);
    if (path === '/cluster/handover')
      return jsonReply(await handOver(parameters.get('to') ?? undefined));
    if (path === '/cluster/rotate-signing') return jsonReply(await rotateSigning());
    return jsonReply(await leave(parameters.get('name') ?? ''));
  }
}

const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' };

const jsonReply = (value: object): Reply => ({ status: 200, headers, body: JSON.stringify(value) });

function leaderReply({ node, leader }: ClusterStatus, path: string): Reply {
  const url = URL.parse(path, leader?.url ?? 'none');
  if (leader === null || url === null) {
    const detail = `Cannot do this: ${node} does not lead, and no node is known to`;
    throw new Failure('not_active', detail, { retryAfterSeconds: 1 });
  }
  return {
    status: 307,
    headers: { ...headers, Location: url.href },
    body: JSON.stringify({ leader }),
  };
}
