/**
 * Before a registered node redirects or acknowledges a message: is it the node, or a copy of its folder?
 *
 *   the leader records this start          it opens
 *   another process beats under its name   it is refused
 *   no answer within `withinMs`            it opens if this machine ran the folder last, since its boot. Otherwise a core opens
 *                                          once no other process has beaten under its name for so long: without a core that
 *                                          opens, none leads. An edge waits
 *
 * Beats of a process that has ended may arrive late. Beats of one process that arrive `lateMs` apart show that it runs.
 */
import { beatSubject, readBeat } from '../nodes/beat-message.ts';
import { lateMs } from '../nodes/beats.ts';
import { joinCluster, type JoiningOptions } from '../nodes/join.ts';
import type { Admission } from '../nodes/join-message.ts';
import { doubleDetail, NodeError } from '../nodes/node-error.ts';
import type { NodeIdentity } from '../nodes/node-file.ts';
import type { NatsConnection } from '../nats/nats-connection.ts';
import { threadCounts } from '../../app/machine/machine-plan.ts';
import { messageOf } from '../../model/failure.ts';
import { systemTimers } from '../../platform/system-clock.ts';
import type { NodeContext } from './context.ts';
import { joinRequestOf } from './begin-cluster.ts';

/** Two beats and a half. */
export const listenMs = 1_250;
/** Of listening: beats that came while the process was busy are read before it ends. */
const stepMs = 50;

export interface ClaimOptions extends Omit<JoiningOptions, 'signal'> {
  readonly connection: Pick<NatsConnection, 'request' | 'problem' | 'subscribe'>;
  /** This machine ran the folder last, since its boot. */
  readonly isLastHere: boolean;
  readonly withinMs: number;
  readonly stopping: AbortSignal;
}

/** A start waits so long for the journals of new redirect threads. */
const journalsMsMax = 5_000;

/**
 * For a node that is registered. One with more redirect threads than journals waits longer for an answer; without it the threads
 * that have a journal start.
 * @returns undefined where it opens without an answer @throws NodeError of a copy
 */
export async function claim(
  context: NodeContext,
  identity: NodeIdentity,
  isLastHere: boolean,
): Promise<Admission | undefined> {
  const { config, log } = context;
  const threads = config.cluster.role === 'core' ? 0 : threadCounts(config).redirect;
  const missing = threads - identity.journals.length;
  const request = joinRequestOf(context, identity);
  const withinMs = missing > 0 ? journalsMsMax : listenMs;
  const claimed = { timers: systemTimers, request, isLastHere, withinMs };
  const admission = await claimStart({ ...context, ...claimed });
  if (admission === undefined && missing > 0) {
    log.warn({ missing }, 'redirect threads without a journal do not start: no core answers');
  }
  return admission;
}

/** Asks until the leader has registered the node as it is now. @returns ends it */
export function joinAgain(
  context: NodeContext,
  identity: NodeIdentity,
  joined: (admission: Admission) => void,
): () => void {
  const { connection, log, fail } = context;
  const ended = new AbortController();
  const { signal } = ended;
  const request = joinRequestOf(context, identity);
  const taken = `Cannot continue as ${identity.name}: the cluster has registered another machine under this name`;
  joinCluster({ connection, timers: systemTimers, log, request, signal }).then(
    (admission) => (admission.id === identity.node ? joined(admission) : fail(taken)),
    (error: unknown) => (signal.aborted ? undefined : fail(messageOf(error))),
  );
  return () => ended.abort();
}

/** @returns undefined where it opens without an answer @throws NodeError of a copy; the signal's reason */
export async function claimStart(options: ClaimOptions): Promise<Admission | undefined> {
  const ended = new AbortController();
  const signal = AbortSignal.any([options.stopping, ended.signal]);
  try {
    return await Promise.race([joinCluster({ ...options, signal }), listen(options, signal)]);
  } finally {
    ended.abort();
  }
}

async function listen(
  { connection, timers, request, isLastHere, withinMs }: ClaimOptions,
  signal: AbortSignal,
): Promise<undefined> {
  // Beats of edges are for cores alone.
  const isEdge = request.role === 'edge';
  let other = { instance: '', sinceMs: 0, nowMs: 0, url: '' };
  let quietMs = 0;
  const receive = (bytes: Uint8Array): void => {
    const { instance, url, isLast = true } = readBeat(bytes) ?? {};
    if (isLast || instance === undefined || instance === request.instance) return;
    quietMs = 0;
    const nowMs = timers.monotonicMs();
    const sinceMs = instance === other.instance ? other.sinceMs : nowMs;
    other = { instance, sinceMs, nowMs, url: url ?? '' };
  };
  const end = isEdge ? undefined : connection.subscribe(beatSubject(request), receive);
  try {
    while (quietMs < withinMs) {
      await new Promise<void>((resolve) => void timers.after(stepMs, resolve));
      signal.throwIfAborted();
      if (other.nowMs - other.sinceMs >= lateMs)
        throw new NodeError(doubleDetail(request.name, other.url));
      if (isLastHere || (!isEdge && connection.problem === undefined)) quietMs += stepMs;
    }
    return undefined;
  } finally {
    end?.();
  }
}
