/**
 * A node asks to be registered, at each start, until the leader answers; its `cluster.json` keeps the answer.
 *
 *   qz.join               from cores
 *   qz.edge.<name>.join   from an edge: it may publish under its own name alone, so it cannot join as another edge
 *
 * Every core receives the requests, and the leader alone answers. A name that is in use is asked for again for some
 * seconds: the node that has it may have ended, and lapses.
 */
import { messageOf } from '../../model/failure.ts';
import type { Timers } from '../../model/clock.ts';
import type { Logger } from '../../platform/log.ts';
import { sparseWarning } from '../../platform/sparse-warning.ts';
import type { NatsConnection } from '../nats/nats-connection.ts';
import {
  type Admission,
  encodeJoinAnswer,
  encodeJoinRequest,
  readJoinAnswer,
  readJoinRequest,
} from './join-message.ts';
import { NodeError } from './node-error.ts';
import type { JoinRequest, Joined, Refusal } from './registry.ts';

/** An answer waits for the log, which takes milliseconds; longer while brokers elect a leader. */
const answerMs = 3_000;
const againMs = 1_000;
/** For a name in use: a node that has ended is connected for 2 s more. */
const inUseMs = 5_000;

const coresSubject = 'qz.join';
/** Where the node asks to be registered. */
export const joinSubject = ({ role, name }: Pick<JoinRequest, 'role' | 'name'>): string =>
  role === 'edge' ? `qz.edge.${name}.join` : coresSubject;

export interface JoiningOptions {
  readonly connection: Pick<NatsConnection, 'request' | 'problem'>;
  readonly timers: Timers;
  readonly log: Logger;
  readonly request: JoinRequest;
  /** Ends the asking. */
  readonly signal?: AbortSignal;
}

/** Asks each second until the leader answers. @throws NodeError where it refuses; the signal's reason */
export async function joinCluster(options: JoiningOptions): Promise<Admission> {
  const { connection, timers, log, request, signal } = options;
  const bytes = encodeJoinRequest(request);
  const startedMs = timers.monotonicMs();
  const warn = sparseWarning(log, timers, 'waiting to join the cluster');
  for (;;) {
    signal?.throwIfAborted();
    let why: string;
    try {
      const answer = readJoinAnswer(
        await connection.request(joinSubject(request), bytes, answerMs),
      );
      signal?.throwIfAborted();
      if (answer === undefined) {
        why = 'the leader answers in another version';
      } else if ('refused' in answer) {
        const isSoon = timers.monotonicMs() - startedMs < inUseMs;
        if (!answer.mayLapse || !isSoon) throw new NodeError(answer.refused);
        why = answer.refused;
      } else {
        return answer;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof NodeError) throw error;
      why = connection.problem ?? `no core that leads answers (${messageOf(error)})`;
    }
    warn({ why });
    await new Promise<void>((resolve) => void timers.after(againMs, resolve));
  }
}

export interface JoinAnswersOptions {
  readonly connection: Pick<NatsConnection, 'answer'>;
  /** This core leads now. */
  readonly isLeading: () => boolean;
  /** Rejects where it leads no more. */
  readonly join: (request: JoinRequest) => Promise<Joined | Refusal>;
  /** For edges. */
  readonly tokenOf: (name: string, run: number) => string;
  /** Where the APIs of the cores are. */
  readonly cores: () => readonly string[];
  readonly log: Logger;
}

/** Answers while this core leads. @returns ends it */
export function answerJoins(options: JoinAnswersOptions): () => void {
  const { connection, isLeading, log } = options;
  const answer = async (bytes: Uint8Array, subject: string): Promise<Uint8Array | undefined> => {
    const request = readJoinRequest(bytes);
    // Another subject than its own: an edge that wants to be another one, or a core.
    if (request === undefined || subject !== joinSubject(request) || !isLeading()) return undefined;
    try {
      return encodeJoinAnswer(await admit(options, request));
    } catch (error) {
      log.warn({ err: error, node: request.name }, 'a node was not registered, and asks again');
      return undefined;
    }
  };
  const ends = [coresSubject, 'qz.edge.*.join'].map((subject) =>
    connection.answer(subject, answer),
  );
  return () => {
    for (const end of ends) end();
  };
}

async function admit(
  { join, tokenOf, cores, log }: JoinAnswersOptions,
  request: JoinRequest,
): Promise<Admission | Refusal> {
  const joined = await join(request);
  if ('refused' in joined) {
    log.warn({ node: request.name, refused: joined.refused }, 'a node was refused');
    return joined;
  }
  const { cluster, node } = joined;
  const { id, name, run, journals, role } = node;
  log.info({ node: name, role, run }, 'a node joined');
  const token = role === 'edge' ? tokenOf(name, run) : '';
  return { cluster, id, run, journals, token, cores: cores() };
}
