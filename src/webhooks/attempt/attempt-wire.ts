/**
 * The format in which attempts and their results pass between threads: columns, because structured clone writes the
 * field names of every object, and what attempts have in common is written once. A result names its attempt by task and
 * index.
 *
 *   attempts   routes    [endpoint, url, ...] each once     the rest  a column each
 *   results    outcomes  [address, status, ...] each once   numbers   [ task, index, time, duration, outcome ]...
 */
import type { EventKind } from '../../model/event.ts';
import { packAttempt, type PackedAttempt, unpackAttempt } from '../../model/attempt-record.ts';
import type { EndpointNo } from '../../model/numbers.ts';
import type { Attempt, AttemptRecord, AttemptSettings, AttemptTask } from '../../model/webhook.ts';

type Route = readonly [
  endpointNo: EndpointNo | undefined,
  url: string,
  kind: EventKind,
  secrets: readonly string[],
];

/** A task of the attempt worker. */
export interface AttemptBatch {
  readonly settings: AttemptSettings;
  /** Attempts in flight to one endpoint. */
  readonly widthMax: number;
  /** Name of the BroadcastChannel that results are posted on. */
  readonly channel: string;
  /** Its results name it by this. */
  readonly no: number;
  /**
   * What is not started of these endpoints goes back, before its own attempts are added; then a result with `recallIndex`
   * says so.
   */
  readonly recalled: readonly EndpointNo[];
  readonly routes: readonly Route[];
  readonly routeOf: readonly number[];
  readonly deliveryIds: readonly string[];
  readonly eventIds: readonly string[];
  readonly attempts: readonly number[];
  readonly bodies: readonly string[];
}

/** The first of the attempts that ended like this; `numbers` has when each did. */
type Outcome = PackedAttempt;
/** Instead of the index of an attempt: the endpoints that a task recalls have given back what they had. */
export const recallIndex = -1;
/** Instead of the number of an outcome. */
const notStarted = -1;
const numbersPerResult = 5;

/** One message of the channel: results of several tasks, in the order in which they arrived. */
export interface AttemptMessage {
  readonly outcomes: readonly Outcome[];
  readonly numbers: Float64Array;
}

/** The result of an attempt. */
export interface AttemptEnd {
  /** `no` of its task. */
  readonly task: number;
  readonly index: number;
  /** Undefined when it was not started. */
  readonly attempt: AttemptRecord | undefined;
}

export function packBatch(
  common: Pick<AttemptBatch, 'settings' | 'widthMax' | 'channel' | 'no' | 'recalled'>,
  tasks: readonly AttemptTask[],
): AttemptBatch {
  const routes = new EachOnce<Route>();
  const routeOf = tasks.map(({ endpointNo, url, kind, secrets }) =>
    routes.indexOf(`${endpointNo} ${kind} ${url} ${secrets.join(' ')}`, [
      endpointNo,
      url,
      kind,
      secrets,
    ]),
  );
  return {
    ...common,
    routes: routes.values,
    routeOf,
    deliveryIds: tasks.map(({ deliveryId }) => deliveryId),
    eventIds: tasks.map(({ eventId }) => eventId),
    attempts: tasks.map(({ attempt }) => attempt),
    bodies: tasks.map(({ body }) => body),
  };
}

export function unpackTasks(batch: AttemptBatch): Attempt[] {
  const { routes, routeOf, deliveryIds, eventIds, attempts, bodies } = batch;
  return deliveryIds.map((deliveryId, index) => {
    const [endpointNo, url, kind, secrets] = routes[routeOf[index]!]!;
    return {
      deliveryId,
      endpointNo,
      eventId: eventIds[index]!,
      kind,
      attempt: attempts[index]!,
      url,
      body: Buffer.from(bodies[index]!),
      secrets,
    };
  });
}

export function packResults(ends: readonly AttemptEnd[]): AttemptMessage {
  const outcomes = new EachOnce<Outcome>();
  const endOf = (attempt: AttemptRecord | undefined): readonly [number, number, number] => {
    if (attempt === undefined) return [0, 0, notStarted];
    const packed = packAttempt(attempt);
    const [atMs, durationMs, ...outcome] = packed;
    const name = `${outcome.join(' ')} ${attempt.answer === undefined}`;
    return [atMs, durationMs, outcomes.indexOf(name, packed)];
  };
  const numbers = new Float64Array(ends.length * numbersPerResult);
  for (const [at, { task, index, attempt }] of ends.entries()) {
    numbers.set([task, index, ...endOf(attempt)], at * numbersPerResult);
  }
  return { outcomes: outcomes.values, numbers };
}

/** Values that many have in common, each in the list once. */
class EachOnce<T> {
  readonly values: T[] = [];
  readonly #indexes = new Map<string, number>();

  /** @param name tells values apart */
  indexOf(name: string, value: T): number {
    let index = this.#indexes.get(name);
    if (index === undefined) {
      index = this.values.push(value) - 1;
      this.#indexes.set(name, index);
    }
    return index;
  }
}

export function unpackResults({ outcomes, numbers }: AttemptMessage): AttemptEnd[] {
  const records = outcomes.map(unpackAttempt);
  const ends: AttemptEnd[] = [];
  for (let at = 0; at < numbers.length; at += numbersPerResult) {
    const [atMs, durationMs] = [numbers[at + 2]!, numbers[at + 3]!];
    const record = records[numbers[at + 4]!];
    const attempt = record && { ...record, atMs, durationMs };
    ends.push({ task: numbers[at]!, index: numbers[at + 1]!, attempt });
  }
  return ends;
}
