/**
 * Before a registered node redirects or acknowledges a message: is it the node, or a copy of its folder?
 *
 *   the leader records this start          it opens
 *   another process beats under its name   it is refused
 *   no answer within `withinMs`            it opens where this machine ran the folder last, since its boot; elsewhere a core opens
 *                                          when its name was silent for so long, as nobody leads before a core opens; an edge waits
 *
 * A process that has ended may leave late beats: two of one process, received `lateMs` apart, are of one that runs.
 */
import { beatSubject, readBeat } from '../cluster/nodes/beat-message.ts';
import { doubleDetail, lateMs } from '../cluster/nodes/beats.ts';
import { joinCluster, type JoiningOptions } from '../cluster/nodes/join.ts';
import type { Admission } from '../cluster/nodes/join-message.ts';
import { NodeError } from '../cluster/nodes/node-error.ts';
import type { NatsConnection } from '../cluster/nats/nats-connection.ts';

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
