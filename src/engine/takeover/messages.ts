/**
 * What a running service and another process say to each other, as lines of JSON over the folder's lock (folder-lock.ts).
 *
 *   another start (folder-lock.ts)                    running service
 *     status --->
 *                          <--- running; a command, and a service that starts or stops, refuses unasked
 *
 *   a command (../commands/)                          running service
 *     command {name, input} --->
 *                          <--- refused {reason}        it did not begin: try again
 *                          <--- started
 *                          <--- progress {value}        any number of times
 *                          <--- result {value}, or failed {code, detail, faults}
 *     ends the connection --->                          aborts the command if it still runs
 *
 *   any process (opening/)                            running service
 *     open {pid, pidNamespace} --->                     takes the writer's lock of every data file
 *                          <--- held
 *     opens them, ends the connection --->              lets go
 *
 *   successor (predecessor-connection.ts)             predecessor (successor-connection.ts)
 *     takeover {protocol, release, dataVersions, pid, pidNamespace} --->
 *                          <--- accepted {release, pid, journals, ports}, or refused {reason}
 *     boots
 *     ready --->                                        yields its services: 20 s at most
 *                          <--- yielded {limits, tails}, or refused {reason}
 *     opens its services and listens
 *     listening --->                                    stops listening, answers what is open
 *     changed {link} --->  <--- followed {link}         from `yielded` to `ended`
 *                          <--- tails {tails}           while it journals
 *                          <--- ended {tails, lostScans}
 *     understood, ends the connection --->              exits
 *
 * The connection is the sign of life: the kernel ends it with the last thread of a process. So neither side ends it while
 * the other one could take that for its death and begin to write.
 *
 *   before `ready`   a fault, or 20 s of silence, ends the connection, and the running service continues. A fault is a line
 *                    that is no message, or that the state does not expect.
 *   after `ready`    the successor may write. The predecessor kills it at a fault, or if it does not listen within 30 s;
 *                    it takes back once the connection has ended, until it has received `understood`.
 *   after `yielded`  the successor skips faults. It kills a predecessor that does not end within 20 s of `listening`.
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
/** Of a predecessor once it has accepted: the limits of a million codes have 20 MB. */
export const yieldedBytesMax = 67_108_864;

export interface DataVersions {
  readonly management: number;
  readonly scans: number;
  readonly delivery: number;
}

/** The ends of journals: what lies before them is journaled. */
export type Tails = ReadonlyArray<readonly [journal: number, position: number]>;
/** How many scans limited codes have had, exactly (codes/links/link-loader.ts). */
export type Limits = ReadonlyArray<readonly [codeNo: number, scansUsed: number]>;

export interface TakeoverMessage {
  readonly type: 'takeover';
  readonly protocol: typeof protocol;
  readonly release: string;
  readonly dataVersions: DataVersions;
  readonly pid: number;
  readonly pidNamespace: string;
}

/** Of a process that opens the data files: a successor, or a command. */
export interface OpenMessage {
  readonly type: 'open';
  readonly pid: number;
  readonly pidNamespace: string;
}

export interface CommandMessage {
  readonly type: 'command';
  readonly name: string;
  readonly input: unknown;
}

export type SuccessorMessage =
  | CommandMessage
  | OpenMessage
  /** Of a start that found the folder locked. */
  | { readonly type: 'status' }
  | TakeoverMessage
  /** Of a later release: the rest of it is unknown. */
  | { readonly type: 'other protocol'; readonly protocol: number }
  | { readonly type: 'ready' }
  | { readonly type: 'listening' }
  /** Link changes up to this number are stored. */
  | { readonly type: 'changed'; readonly link: number }
  /** `ended` was received: the successor goes on alone. */
  | { readonly type: 'understood' };

export interface AcceptedMessage {
  readonly type: 'accepted';
  readonly release: string;
  readonly pid: number;
  readonly journals: readonly number[];
  readonly ports: readonly number[];
}

export interface YieldedMessage {
  readonly type: 'yielded';
  readonly limits: Limits;
  readonly tails: Tails;
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
  | { readonly type: 'result'; readonly value: unknown }
  | FailedMessage
  /** No commit is under way until the connection ends. */
  | { readonly type: 'held' }
  | { readonly type: 'running' }
  | { readonly type: 'refused'; readonly reason: string }
  | AcceptedMessage
  | YieldedMessage
  | { readonly type: 'tails'; readonly tails: Tails }
  /** Redirects by every link change up to this number. */
  | { readonly type: 'followed'; readonly link: number }
  | { readonly type: 'ended'; readonly tails: Tails; readonly lostScans: number };

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
const isPairs: Check = (value) =>
  Array.isArray(value) && value.every((item) => isCounts(item) && item.length === 2);
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
  open: { pid: isCount, pidNamespace: isText },
  status: {},
  takeover: {
    protocol: isCount,
    release: isText,
    dataVersions: isVersions,
    pid: isCount,
    pidNamespace: isText,
  },
  ready: {},
  listening: {},
  changed: { link: isCount },
  understood: {},
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
  held: {},
  running: {},
  refused: { reason: isText },
  accepted: { release: isText, pid: isCount, journals: isCounts, ports: isCounts },
  yielded: { limits: isPairs, tails: isPairs },
  tails: { tails: isPairs },
  followed: { link: isCount },
  ended: { tails: isPairs, lostScans: isCount },
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
