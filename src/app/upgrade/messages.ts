/**
 * Messages between a running service and another process, as lines of JSON over the folder's lock (folder-lock.ts).
 *
 *   another start                                     running service (host-takeovers.ts)
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
 *   successor (predecessor-connection.ts)             predecessor (host-takeovers.ts)
 *     takeover {protocol, release, dataVersions, pidNamespace} --->
 *                          <--- accepted {release, pid, journals, ports}, or refused {reason}
 *     ready --->                                        stops the API, the services and the shards
 *                          <--- yielded                 it only redirects, and writes its own journals
 *     locks the folder, opens the stores, loads the links, listens for redirects
 *     listening --->                                    stops listening, syncs its journals, sends clients to new connections
 *                          <--- ended                   it has stopped writing
 *     counts the predecessor's journals, opens the API  exits when its connections are closed
 *
 * If the connection ends, the other process has died.
 *
 *   before `ready`   the running service continues unchanged
 *   after `ready`    a predecessor whose successor dies locks the folder again, redirects, and yields to the next start; after
 *                    60 s without one it exits
 */
import type { Fault, FailureCode } from '../../model/failure.ts';
import { parseJson } from '../../platform/small-files.ts';

/** All protocols share the fields of `takeover`, so that a release can refuse another protocol with a reason. */
export const protocol = 1;
/** Longest line of a command with its input. */
export const commandBytesMax = 1_048_576;
/** Longest answer, in characters: some commands return every key of every workspace. */
export const answerLengthMax = 67_108_864;

const anything: unknown = undefined;
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- an example of any value
const anyCode = anything as FailureCode | null;
const faults: readonly Fault[] = [{ path: '', code: '', message: '' }];
const numbers: readonly number[] = [0];

/** An example of each message, which gives the types of its fields. */
const examples = {
  status: {},
  command: { name: '', input: anything },
  takeover: {
    protocol: 0,
    release: '',
    dataVersions: { management: 0, scans: 0, delivery: 0 },
    pidNamespace: '',
  },
  ready: {},
  listening: {},
  started: {},
  progress: { value: anything },
  result: { value: anything },
  /** `code` null = not a `Failure`; `detail` is for the operator. */
  failed: { code: anyCode, detail: '', faults },
  running: {},
  refused: { reason: '' },
  accepted: { release: '', pid: 0, journals: numbers, ports: numbers },
  /** Also the answer to `status` of a service that waits for its next successor. */
  yielded: {},
  ended: {},
};

export type MessageType = keyof typeof examples;
type AnyMessage = {
  [Type in MessageType]: { readonly type: Type } & Readonly<(typeof examples)[Type]>;
}[MessageType];
export type Message<Type extends MessageType = MessageType> = Extract<AnyMessage, { type: Type }>;
export type DataVersions = Readonly<Message<'takeover'>['dataVersions']>;

export const lineOf = (message: Message): string => `${JSON.stringify(message)}\n`;

export const isOf = <Type extends MessageType>(
  message: Message,
  types: readonly Type[],
): message is Message<Type> => types.some((type) => type === message.type);

/** Undefined if the line is not a message. */
export function parseMessage(line: string): Message | undefined {
  const value = parseJson(line);
  return isMessage(value) ? value : undefined;
}

const isMessage = (value: unknown): value is Message =>
  isObject(value) &&
  Object.entries(examples).some(
    ([type, fields]) => value['type'] === type && isLike(value, fields),
  );

function isLike(value: unknown, example: unknown): boolean {
  if (example === undefined) return true;
  if (Array.isArray(example)) {
    return Array.isArray(value) && value.every((item) => isLike(item, example[0]));
  }
  if (!isObject(example)) return typeof value === typeof example;
  return (
    isObject(value) && Object.entries(example).every(([name, field]) => isLike(value[name], field))
  );
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
