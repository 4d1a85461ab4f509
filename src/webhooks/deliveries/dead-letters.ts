/**
 * Dead letters: deliveries whose last attempt failed, listed by workspace and time of death. A replay sends the same
 * delivery, event ids and bytes, and removes it from the list until it dies again. A replay of a range visits each dead
 * letter once, so one that dies again at once is not replayed endlessly.
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
  readonly #options: DeadLettersOptions;

  constructor(options: DeadLettersOptions) {
    this.#options = options;
  }

  list(workspaceNo: WorkspaceNo, filter: DeadLetterFilter & DeadLetterPage): DeliveryPage {
    const { tables } = this.#options.store;
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
  count(
    workspaceNo: WorkspaceNo,
    { endpointNo, fromMs = 0, beforeMs = Number.MAX_SAFE_INTEGER }: DeadLetterFilter,
  ): number {
    const { dead } = this.#options.store.tables;
    const start: DeadKey = [workspaceNo, fromMs, ''];
    const range = { start, end: [workspaceNo, beforeMs, ''] satisfies DeadKey };
    if (endpointNo === undefined) return dead.count(range);
    let count = 0;
    for (const { value } of dead.range(range)) if (value === endpointNo) count += 1;
    return count;
  }

  /** @throws Failure not_found, conflict if it is not dead or its endpoint is disabled */
  async replay(delivery: Delivery): Promise<Delivery> {
    this.assertEnabled(delivery.endpointNo);
    return await this.#options.store.transaction((tx) => {
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
    const { dead } = this.#options.store.tables;
    const end: DeadKey = [workspaceNo, Math.min(beforeMs, this.#options.clock.now() + 1), ''];
    let start: DeadKey = [workspaceNo, fromMs, ''];
    for (let replayed = 0; ;) {
      const batch = [...dead.range({ start, end, limit: batchMax })];
      const last = batch.at(-1)?.key;
      if (last === undefined) return replayed;
      const ids = batch
        .filter(({ value }) => endpointNo === undefined || value === endpointNo)
        .filter(({ value }) => this.#options.endpoints.byNo(value)?.status === 'enabled')
        .map(({ key: [, , id] }) => id);
      replayed += await this.#replayMany(ids);
      start = [last[0], last[1], `${last[2]}~`];
    }
  }

  assertEnabled(endpointNo: EndpointNo): void {
    const endpoint = this.#options.endpoints.byNo(endpointNo);
    if (endpoint?.status === 'enabled') return;
    const status = endpoint === undefined ? 'deleted' : 'disabled';
    throw new Failure(
      'conflict',
      `Cannot send: the endpoint is ${status}, expected an enabled one`,
    );
  }

  async #replayMany(ids: readonly string[]): Promise<number> {
    if (ids.length === 0) return 0;
    return await this.#options.store.transaction((tx) => {
      const dead = ids.flatMap((id) => tx.find(id) ?? []).filter(({ state }) => state === 'dead');
      for (const delivery of dead) this.#revive(tx, delivery);
      return dead.length;
    });
  }

  #revive(tx: DeliveryTransaction, delivery: Delivery): Delivery {
    return tx.move(delivery, 'replayed', { dueMs: this.#options.store.wheelClock.now() });
  }
}

function parseCursor(before: string | undefined): [deadAtMs: number, id: string] | undefined {
  const match = before === undefined ? null : /^(\d{1,15})\.(dlv_[0-9a-z]{20})$/.exec(before);
  return match === null ? undefined : [Number(match[1]), match[2] ?? ''];
}
