/**
 * What a running service and another process say to each other, as lines of JSON over the folder's lock (folder-lock.ts).
 *
 *   another start (folder-lock.ts)                    running service
 *     status --->
 *                          <--- running, or yielded; a command, and a service that starts or stops, refuses unasked
 *
 *   a command (../commands/)                          running service
 *     command {name, input} --->
 *                          <--- refused {reason}        it did not begin: try again
 *                          <--- started
 *                          <--- progress {value}        any number of times
 *                          <--- result {value}, or failed {code, detail, faults}
 *     ends the connection --->                          aborts the command if it still runs
 *
 *   successor (predecessor-connection.ts)             predecessor (successor-connection.ts)
 *     takeover {protocol, release, dataVersions, pidNamespace} --->
 *                          <--- accepted {release, pid, journals, ports}, or refused {reason}
 *     ready --->                                        stops the API, the services and the shards
 *                          <--- yielded                 it only redirects, and writes its own journals
 *     locks the folder, opens the stores, loads the links, listens for redirects
 *     listening --->                                    stops listening, syncs its journals, sends clients to new connections
 *                          <--- ended                   it writes nothing any more
 *     counts the predecessor's journals, opens the API  exits when its connections are closed
 *
 * The end of the connection is the death of the other process.
 *
 *   before `ready`   the running service continues as if nothing had happened
 *   after `ready`    a predecessor whose successor dies locks the folder again, redirects, and yields to the next start; after
 *                    60 s without one it exits
 */
import type { Fault, FailureCode } from '../../model/failure.ts';
import { parseJson } from '../small-files.ts';

export const protocol = 1;
/** A line of the conversation. */
export const lineBytesMax = 65_536;
/** A command with its input. */
export const commandBytesMax = 1_048_576;
/** A result of a command: some list every key of every workspace. */
export const resultBytesMax = 67_108_864;

export interface DataVersions {
  readonly management: number;
  readonly scans: number;
  readonly delivery: number;
}

export interface TakeoverMessage {
  readonly type: 'takeover';
  readonly protocol: typeof protocol;
  readonly release: string;
  readonly dataVersions: DataVersions;
  readonly pidNamespace: string;
}

export interface CommandMessage {
  readonly type: 'command';
  readonly name: string;
  readonly input: unknown;
}

export type SuccessorMessage =
  | CommandMessage
  /** Of a start that found the folder locked. */
  | { readonly type: 'status' }
  | TakeoverMessage
  /** Of a later release: the rest of it is unknown. */
  | { readonly type: 'other protocol'; readonly protocol: number }
  | { readonly type: 'ready' }
  | { readonly type: 'listening' };

export interface AcceptedMessage {
  readonly type: 'accepted';
  readonly release: string;
  readonly pid: number;
  readonly journals: readonly number[];
  readonly ports: readonly number[];
}

export interface ResultMessage {
  readonly type: 'result';
  readonly value: unknown;
}

export interface FailedMessage {
  readonly type: 'failed';
  /** Null = not a `Failure`; `detail` is for the operator. */
  readonly code: FailureCode | null;
  readonly detail: string;
  readonly faults: readonly Fault[];
}

export type PredecessorMessage =
  | { readonly type: 'started' }
  | { readonly type: 'progress'; readonly value: unknown }
  | ResultMessage
  | FailedMessage
  | { readonly type: 'running' }
  | { readonly type: 'refused'; readonly reason: string }
  | AcceptedMessage
  /** Also the answer to `status` of a service that waits for its next successor. */
  | { readonly type: 'yielded' }
  | { readonly type: 'ended' };

export const lineOf = (message: SuccessorMessage | PredecessorMessage): string =>
  `${JSON.stringify(message)}\n`;

type Check = (value: unknown) => boolean;
/** By type of message, the check of each field. */
type Shapes<Message extends { readonly type: string }> = {
  readonly [M in Message as M['type']]: { readonly [F in Exclude<keyof M, 'type'>]: Check };
};

type Fields = Readonly<Record<string, unknown>>;
const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

const isCount = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
const isCounts = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every((item) => isCount(item));
const textLengthMax = 2_000;
const isText: Check = (value) => typeof value === 'string' && value.length <= textLengthMax;
const isString: Check = (value) => typeof value === 'string';
const isAny: Check = () => true;
const isFaults: Check = (value) =>
  Array.isArray(value) &&
  value.every(
    (fault) =>
      isFields(fault) && ['path', 'code', 'message'].every((name) => isString(fault[name])),
  );
const isVersions: Check = (value) =>
  isFields(value) && ['management', 'scans', 'delivery'].every((name) => isCount(value[name]));

type KnownSuccessorMessage = Exclude<SuccessorMessage, { readonly type: 'other protocol' }>;

const successorShapes: Shapes<KnownSuccessorMessage> = {
  command: { name: isText, input: isAny },
  status: {},
  takeover: {
    protocol: isCount,
    release: isText,
    dataVersions: isVersions,
    pidNamespace: isText,
  },
  ready: {},
  listening: {},
};

const predecessorShapes: Shapes<PredecessorMessage> = {
  started: {},
  progress: { value: isAny },
  result: { value: isAny },
  failed: {
    code: (value) => value === null || isString(value),
    detail: isString,
    faults: isFaults,
  },
  running: {},
  refused: { reason: isText },
  accepted: { release: isText, pid: isCount, journals: isCounts, ports: isCounts },
  yielded: {},
  ended: {},
};

/** Undefined for a line that is no message of a successor. */
export function parseSuccessorMessage(line: string): SuccessorMessage | undefined {
  const message = parseJson(line);
  if (isFields(message) && message['type'] === 'takeover') {
    const theirs = message['protocol'];
    if (isCount(theirs) && theirs !== protocol) return { type: 'other protocol', protocol: theirs };
  }
  return isOf(successorShapes, message) ? message : undefined;
}

/** Undefined for a line that is no message of a predecessor. */
export function parsePredecessorMessage(line: string): PredecessorMessage | undefined {
  const message = parseJson(line);
  return isOf(predecessorShapes, message) ? message : undefined;
}

function isOf<Message extends { readonly type: string }>(
  shapes: Shapes<Message>,
  message: unknown,
): message is Message {
  if (!isFields(message)) return false;
  const byType = new Map<unknown, Readonly<Record<string, Check>>>(Object.entries(shapes));
  const shape = byType.get(message['type']);
  if (shape === undefined) return false;
  return Object.entries(shape).every(([name, isValid]) => isValid(message[name]));
}
