/**
 * Checkouts: payments for a plan, open for a day, or for a month if the operator confirms. A workspace has one open checkout
 * at most; a new one replaces it, so that nothing is paid twice. They are removed a month later.
 */
import type { CheckoutRecord } from '../../model/billing.ts';
import type { Clock } from '../../model/clock.ts';
import { dayMs, isoTime } from '../../model/day.ts';
import { Failure, notFound } from '../../model/failure.ts';
import { parseId } from '../../model/ids.ts';
import type { Management } from '../../store/management/management.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';

export const checkoutLifetimeMs = dayMs;
/** The operator confirms when the money has come, and may be away. */
export const operatorLifetimeMs = 30 * dayMs;
const retentionMs = 30 * dayMs;
/** Records that one run of `expire` removes: a few ms of the writer's time. */
const expireBatchMax = 1_000;

export class Checkouts {
  readonly #store: Management;
  readonly #clock: Clock;

  constructor(store: Management, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** With its state as it is now. */
  find(id: string): CheckoutRecord | undefined {
    if (parseId('chk', id) === undefined) return undefined;
    const stored = this.#store.billing.checkouts.get(id);
    if (stored?.state !== 'open' || stored.expiresAtMs > this.#clock.now()) return stored;
    return { ...stored, state: 'expired' };
  }

  /** @throws Failure not_found, also for another workspace's */
  get(workspaceNo: WorkspaceNo, id: string): CheckoutRecord {
    const found = this.find(id);
    if (found?.workspaceNo === workspaceNo) return found;
    throw notFound('checkout');
  }

  /** The workspace's, while it is open. */
  openOf(workspaceNo: WorkspaceNo): CheckoutRecord | undefined {
    const id = this.#store.billing.openCheckouts.get(workspaceNo);
    const found = id === undefined ? undefined : this.find(id);
    return found?.state === 'open' ? found : undefined;
  }

  /** Those of all workspaces, at most one of each. */
  *allOpen(): Generator<CheckoutRecord> {
    for (const { value: id } of this.#store.billing.openCheckouts.range({})) {
      const found = this.find(id);
      if (found?.state === 'open') yield found;
    }
  }

  /** Stores a new one. Inside a transaction. @returns the open one it replaces */
  open(checkout: CheckoutRecord): CheckoutRecord | undefined {
    const { billing } = this.#store;
    const replaced = this.replaceOpen(checkout.workspaceNo);
    billing.checkouts.put(checkout.id, checkout);
    billing.openCheckouts.put(checkout.workspaceNo, checkout.id);
    billing.billingExpiry.set([checkout.id], checkout.expiresAtMs + retentionMs);
    return replaced;
  }

  /** Marks it as paid, even if it has expired or was replaced. Inside a transaction. */
  complete(checkout: CheckoutRecord): CheckoutRecord {
    return this.#close(checkout, 'complete');
  }

  /** Marks the workspace's open checkout as replaced, if there is one. Inside a transaction. */
  replaceOpen(workspaceNo: WorkspaceNo): CheckoutRecord | undefined {
    const id = this.#store.billing.openCheckouts.get(workspaceNo);
    const open = id === undefined ? undefined : this.#store.billing.checkouts.get(id);
    return open?.state === 'open' ? this.#close(open, 'replaced') : undefined;
  }

  /** Whether a provider's event had its effect before. */
  hasApplied(eventId: string): boolean {
    return this.#store.billing.providerEvents.has(eventId);
  }

  /** Remembers a provider's event for a month. Inside the transaction of its effect. */
  noteApplied(eventId: string): void {
    const { billing } = this.#store;
    const nowMs = this.#clock.now();
    billing.providerEvents.put(eventId, nowMs);
    billing.billingExpiry.set([eventId], nowMs + retentionMs);
  }

  /** Removes records a month after their end, one batch. */
  async expire(): Promise<void> {
    const { billingExpiry, providerEvents, checkouts } = this.#store.billing;
    await billingExpiry.expire(this.#clock.now(), expireBatchMax, (id) => {
      if (parseId('chk', id) === undefined) providerEvents.remove(id);
      else checkouts.remove(id);
    });
  }

  #close(checkout: CheckoutRecord, state: 'complete' | 'replaced'): CheckoutRecord {
    const { billing } = this.#store;
    const closed = { ...checkout, state };
    billing.checkouts.put(checkout.id, closed);
    if (billing.openCheckouts.get(checkout.workspaceNo) === checkout.id) {
      billing.openCheckouts.remove(checkout.workspaceNo);
    }
    return closed;
  }
}

/** @throws Failure conflict with the reason */
export function assertOpen(checkout: CheckoutRecord): void {
  const why: Readonly<Record<CheckoutRecord['state'], string>> = {
    open: '',
    complete: 'it is complete',
    expired: `it expired at ${isoTime(checkout.expiresAtMs)}`,
    replaced: 'a later checkout replaced it',
  };
  if (checkout.state === 'open') return;
  throw new Failure(
    'conflict',
    `Cannot complete the checkout: ${why[checkout.state]}, expected an open one`,
  );
}
