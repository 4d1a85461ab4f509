/**
 * Dead letters: deliveries whose last attempt failed, kept for some days, listed by workspace and time of death,
 * and replayed unchanged: the same delivery, event ids and bytes. A replay takes one off the list; when it dies
 * again it is back on it.
 *
 * A replay of a range goes in batches, each a transaction, and visits each dead letter once, so that one which
 * dies again at once is not replayed for ever. Dead letters of a disabled endpoint are skipped.
 */
import type { Clock } from '../../model/clock.ts';
import { Failure } from '../../model/failure.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { Delivery } from './delivery.ts';
import { type DeliveryTransaction, findRow } from './delivery-transaction.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import type { EndpointNo, WorkspaceNo } from '../../model/numbers.ts';

/** Dead letters of one transaction. */
const batchMax = 500;
/** Dead letters that one page reads when it filters by endpoint. */
const readMax = 5_000;

export interface DeadLetterFilter {
  readonly endpointNo?: EndpointNo | undefined;
  /** Died at this time or later. */
  readonly fromMs?: number | undefined;
  /** Died before this time. */
  readonly beforeMs?: number | undefined;
}

export interface DeadLetterPage {
  /** `before` of the previous page. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** A page of deliveries, newest first; `before` is where the next page begins. */
export interface DeliveryPage {
  readonly data: readonly Delivery[];
  readonly before?: string;
}

export interface DeadLettersOptions {
  readonly store: DeliveryStore;
  readonly endpoints: Endpoints;
  readonly clock: Clock;
}

type DeadKey = [workspaceNo: WorkspaceNo, deadAtMs: number, id: string];

export class DeadLetters {
  readonly #store: DeliveryStore;
  readonly #endpoints: Endpoints;
  readonly #clock: Clock;

  constructor({ store, endpoints, clock }: DeadLettersOptions) {
    this.#store = store;
    this.#endpoints = endpoints;
    this.#clock = clock;
  }

  /** Newest first. */
  list(workspaceNo: WorkspaceNo, filter: DeadLetterFilter & DeadLetterPage): DeliveryPage {
    const { tables } = this.#store;
    tables.environment.refresh();
    const { endpointNo, fromMs = 0, beforeMs = Number.MAX_SAFE_INTEGER, before, limit } = filter;
    const [topMs, topId] = parsePlace(before) ?? [beforeMs, ''];
    const data: Delivery[] = [];
    let read = 0;
    let last = '';
    const start: DeadKey = [workspaceNo, topMs, topId];
    const end: DeadKey = [workspaceNo, fromMs, ''];
    for (const { key, value } of tables.dead.range({ start, end, reverse: true })) {
      const [, deadAtMs, id] = key;
      if (deadAtMs === topMs && id === topId) continue;
      if (data.length === limit || read === readMax) return { data, before: last };
      read += 1;
      last = `${deadAtMs}.${id}`;
      if (endpointNo !== undefined && value !== endpointNo) continue;
      const delivery = findRow(tables, id);
      if (delivery !== undefined) data.push(delivery);
    }
    return { data };
  }

  /** How many there are; reads all of them when it filters by endpoint. */
  count(workspaceNo: WorkspaceNo, { endpointNo, fromMs = 0, beforeMs }: DeadLetterFilter): number {
    const { dead } = this.#store.tables;
    const range = this.#ascending(workspaceNo, fromMs, beforeMs ?? Number.MAX_SAFE_INTEGER);
    if (endpointNo === undefined) return dead.count(range);
    let count = 0;
    for (const { value } of dead.range(range)) if (value === endpointNo) count += 1;
    return count;
  }

  /**
   * Replays one.
   * @throws Failure not_found, conflict when it is not dead or its endpoint is disabled
   */
  async replay(delivery: Delivery): Promise<Delivery> {
    this.assertEnabled(delivery.endpointNo);
    return await this.#store.transaction((tx) => {
      const stored = tx.find(delivery.id);
      if (stored?.state !== 'dead') {
        throw new Failure(
          'conflict',
          `Cannot replay the delivery: it is ${stored?.state ?? 'expired'}, expected a dead one`,
        );
      }
      return this.#revive(tx, stored);
    });
  }

  /** Replays a range. @returns how many @throws Failure conflict when the endpoint of the filter is disabled */
  async replayRange(
    workspaceNo: WorkspaceNo,
    { endpointNo, fromMs, beforeMs }: DeadLetterFilter & { fromMs: number; beforeMs: number },
  ): Promise<number> {
    if (endpointNo !== undefined) this.assertEnabled(endpointNo);
    const { dead } = this.#store.tables;
    const nowMs = this.#clock.now();
    let start: DeadKey | undefined;
    let replayed = 0;
    for (;;) {
      const range = this.#ascending(workspaceNo, fromMs, Math.min(beforeMs, nowMs + 1));
      const keys: DeadKey[] = [];
      let last: DeadKey | undefined;
      for (const { key, value } of dead.range({
        ...range,
        start: start ?? range.start,
        limit: batchMax,
      })) {
        last = key;
        if (endpointNo !== undefined && value !== endpointNo) continue;
        if (this.#endpoints.byNo(value)?.status === 'enabled') keys.push(key);
      }
      if (last === undefined) return replayed;
      start = [last[0], last[1], `${last[2]}~`];
      replayed += await this.#replayMany(keys);
    }
  }

  /** @throws Failure conflict for an endpoint that is disabled or deleted */
  assertEnabled(endpointNo: EndpointNo): void {
    const endpoint = this.#endpoints.byNo(endpointNo);
    if (endpoint?.status === 'enabled') return;
    const status = endpoint === undefined ? 'deleted' : 'disabled';
    throw new Failure(
      'conflict',
      `Cannot send: the endpoint is ${status}, expected an enabled one`,
    );
  }

  async #replayMany(keys: readonly DeadKey[]): Promise<number> {
    if (keys.length === 0) return 0;
    return await this.#store.transaction((tx) => {
      let count = 0;
      for (const [, , id] of keys) {
        const delivery = tx.find(id);
        if (delivery?.state !== 'dead') continue;
        this.#revive(tx, delivery);
        count += 1;
      }
      return count;
    });
  }

  #revive(tx: DeliveryTransaction, delivery: Delivery): Delivery {
    return tx.move(delivery, 'replayed', { dueMs: this.#store.wheelClock.now() });
  }

  #ascending(workspaceNo: WorkspaceNo, fromMs: number, beforeMs: number) {
    const start: DeadKey = [workspaceNo, fromMs, ''];
    const end: DeadKey = [workspaceNo, beforeMs, ''];
    return { start, end };
  }
}

function parsePlace(before: string | undefined): [deadAtMs: number, id: string] | undefined {
  const match = before === undefined ? null : /^(\d{1,15})\.(dlv_[0-9a-z]{20})$/.exec(before);
  return match === null ? undefined : [Number(match[1]), match[2] ?? ''];
}
