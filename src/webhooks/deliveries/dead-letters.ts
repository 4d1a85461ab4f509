/**
 * Dead letters: deliveries whose last attempt failed, stored for some days and listed by workspace and time of death.
 * A replay sends the same delivery, event ids and bytes, and removes it from the list until it dies again.
 *
 * A replay of a range runs in batches, each a transaction, and visits each dead letter once, so that one that dies
 * again at once is not replayed endlessly. It skips dead letters of a disabled endpoint.
 */
import type { Clock } from '../../model/clock.ts';
import { Failure } from '../../model/failure.ts';
import type { DeliveryStore } from './delivery-store.ts';
import type { Delivery } from './delivery.ts';
import { type DeliveryTransaction, findRow } from './delivery-transaction.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import type { EndpointNo, WorkspaceNo } from '../../model/numbers.ts';

const batchMax = 500;
/** Dead letters that one page reads if it filters by endpoint. */
const readMax = 5_000;

interface DeadLetterFilter {
  readonly endpointNo?: EndpointNo | undefined;
  readonly fromMs?: number | undefined;
  readonly beforeMs?: number | undefined;
}

export interface DeadLetterPage {
  /** Cursor: `before` of the previous page. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** Newest first; `before` is the cursor of the next page. */
export interface DeliveryPage {
  readonly data: readonly Delivery[];
  readonly before?: string;
}

interface DeadLettersOptions {
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

  list(workspaceNo: WorkspaceNo, filter: DeadLetterFilter & DeadLetterPage): DeliveryPage {
    const { tables } = this.#store;
    tables.environment.refresh();
    const { endpointNo, fromMs = 0, beforeMs = Number.MAX_SAFE_INTEGER, before, limit } = filter;
    const [topMs, topId] = parseCursor(before) ?? [beforeMs, ''];
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

  /** Their number; reads all of them if it filters by endpoint. */
  count(workspaceNo: WorkspaceNo, { endpointNo, fromMs = 0, beforeMs }: DeadLetterFilter): number {
    const { dead } = this.#store.tables;
    const range = this.#ascending(workspaceNo, fromMs, beforeMs ?? Number.MAX_SAFE_INTEGER);
    if (endpointNo === undefined) return dead.count(range);
    let count = 0;
    for (const { value } of dead.range(range)) if (value === endpointNo) count += 1;
    return count;
  }

  /** @throws Failure not_found, conflict if it is not dead or its endpoint is disabled */
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

  /** Replays a range. @returns how many @throws Failure conflict if the filter's endpoint is disabled */
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

  /** @throws Failure conflict if the endpoint is disabled or deleted */
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

function parseCursor(before: string | undefined): [deadAtMs: number, id: string] | undefined {
  const match = before === undefined ? null : /^(\d{1,15})\.(dlv_[0-9a-z]{20})$/.exec(before);
  return match === null ? undefined : [Number(match[1]), match[2] ?? ''];
}
