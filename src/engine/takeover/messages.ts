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

type Guard<Value> = (value: unknown) => value is Value;
type Fields = Readonly<Record<string, unknown>>;

const isFields: Guard<Fields> = (value): value is Fields =>
  typeof value === 'object' && value !== null;
const isAny: Guard<unknown> = (_value): _value is unknown => true;
const isString: Guard<string> = (value) => typeof value === 'string';
const textLengthMax = 2_000;
const isText: Guard<string> = (value): value is string =>
  isString(value) && value.length <= textLengthMax;
const isCount: Guard<number> = (value): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
const isCounts: Guard<readonly number[]> = (value): value is number[] =>
  Array.isArray(value) && value.every((item) => isCount(item));
const isVersions: Guard<DataVersions> = (value): value is DataVersions =>
  isFields(value) && ['management', 'scans', 'delivery'].every((name) => isCount(value[name]));
const isCode: Guard<FailureCode | null> = (value): value is FailureCode | null =>
  value === null || isString(value);
const isFaults: Guard<readonly Fault[]> = (value): value is Fault[] =>
  Array.isArray(value) &&
  value.every(
    (fault) =>
      isFields(fault) && ['path', 'code', 'message'].every((name) => isString(fault[name])),
  );

/** By type of message, the check of each field. */
type Shapes = Readonly<Record<string, Readonly<Record<string, Guard<unknown>>>>>;

const successorShapes = {
  command: { name: isText, input: isAny },
  /** Of a start that found the folder locked. */
  status: {},
  takeover: {
    protocol: isCount,
    release: isText,
    dataVersions: isVersions,
    pidNamespace: isText,
  },
  ready: {},
  listening: {},
} satisfies Shapes;

const predecessorShapes = {
  started: {},
  progress: { value: isAny },
  result: { value: isAny },
  /** `code` null = not a `Failure`; `detail` is for the operator. */
  failed: { code: isCode, detail: isString, faults: isFaults },
  running: {},
  refused: { reason: isText },
  accepted: { release: isText, pid: isCount, journals: isCounts, ports: isCounts },
  /** Also the answer to `status` of a service that waits for its next successor. */
  yielded: {},
  ended: {},
} satisfies Shapes;

type MessageOf<S extends Shapes> = {
  [Type in keyof S]: { readonly type: Type } & {
    readonly [Field in keyof S[Type]]: S[Type][Field] extends Guard<infer Value> ? Value : never;
  };
}[keyof S];

export type PredecessorMessage = MessageOf<typeof predecessorShapes>;
export type SuccessorMessage =
  | MessageOf<typeof successorShapes>
  /** Of a later release: the rest of it is unknown. */
  | { readonly type: 'other protocol'; readonly protocol: number };

export type TakeoverMessage = Extract<SuccessorMessage, { type: 'takeover' }>;
export type CommandMessage = Extract<SuccessorMessage, { type: 'command' }>;
export type AcceptedMessage = Extract<PredecessorMessage, { type: 'accepted' }>;
export type ResultMessage = Extract<PredecessorMessage, { type: 'result' }>;
export type FailedMessage = Extract<PredecessorMessage, { type: 'failed' }>;

export const lineOf = (message: SuccessorMessage | PredecessorMessage): string =>
  `${JSON.stringify(message)}\n`;

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

function isOf<S extends Shapes>(shapes: S, message: unknown): message is MessageOf<S> {
  if (!isFields(message) || !isString(message['type'])) return false;
  const { type } = message;
  const shape = Object.hasOwn(shapes, type) ? shapes[type] : undefined;
  return (
    shape !== undefined && Object.entries(shape).every(([name, isValid]) => isValid(message[name]))
  );
}
