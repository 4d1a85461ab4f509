/**
 * The message format between threads: columns, because structured clone writes the field names of every object, and
 * common values once. A result refers to its attempt by task and index.
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

export interface AttemptBatch {
  readonly settings: AttemptSettings;
  readonly widthMax: number;
  readonly channel: string;
  /** Identifies the task in its results. */
  readonly no: number;
  /** Returns these endpoints' unstarted attempts first; a result with `recallIndex` confirms that. */
  readonly recalled: readonly EndpointNo[];
  readonly routes: readonly Route[];
  readonly routeOf: readonly number[];
  readonly deliveryIds: readonly string[];
  readonly eventIds: readonly string[];
  readonly attempts: readonly number[];
  readonly bodies: readonly string[];
}

/** The first attempt with this outcome; `numbers` has the times of each. */
type Outcome = PackedAttempt;
/** In place of an attempt's index: the recalled attempts are returned. */
export const recallIndex = -1;
/** In place of an outcome's index. */
const notStarted = -1;
const numbersPerResult = 5;

/** A message of the channel: results of several tasks, in order of arrival. */
export interface AttemptMessage {
  readonly outcomes: readonly Outcome[];
  readonly numbers: Float64Array;
}

export interface AttemptEnd {
  readonly task: number;
  readonly index: number;
  /** Undefined if not started. */
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

class EachOnce<T> {
  readonly values: T[] = [];
  readonly #indexes = new Map<string, number>();

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
