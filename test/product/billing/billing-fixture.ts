/** Billing on a real store with a first workspace, and what tests of it do again and again. */
import type { Billing } from '../../../src/product/billing/billing.ts';
import type { PaymentProvider } from '../../../src/product/billing/provider.ts';
import type { CheckoutRecord, PaidPlan } from '../../../src/model/billing.ts';
import type { Actor, Plan } from '../../../src/model/workspace.ts';
import { openTestApp, type TestApp } from '../../support/test-app.ts';
import { timersOf } from '../../store/timers.ts';

export interface EmittedEvent {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

const nothing = (): void => undefined;

export class BillingFixture {
  actor: Actor;
  app: TestApp;

  constructor(app: TestApp) {
    this.app = app;
    this.actor = app.actor;
  }

  get billing(): Billing {
    return this.app.billing;
  }

  async restart(): Promise<void> {
    this.app = await this.app.restart();
  }

  plan(): Plan {
    return this.billing.status(this.actor.workspaceNo).workspace.plan;
  }

  /** Goes on with a fresh workspace of the same owner: cheaper than a store of its own. */
  async enterNewWorkspace(): Promise<void> {
    const { id, no } = await this.app.workspaces.workspaces.create(this.actor.userId, 'Another');
    this.actor = { ...this.actor, workspaceId: id, workspaceNo: no };
  }

  /** Every event of the workspace, oldest first. */
  emitted(): EmittedEvent[] {
    const events = [...this.app.store.events.range({})].map(({ value }) => value);
    const own = events.filter((event) => event.workspaceNo === this.actor.workspaceNo);
    return own.map(({ body }) => JSON.parse(body));
  }

  /** The table of due times. */
  due(): Array<[number, number]> {
    return timersOf(this.app.store.billing.subscriptionDue);
  }

  async open(plan: PaidPlan, interval: 'month' | 'year' = 'month'): Promise<CheckoutRecord> {
    return await this.billing.openCheckout(this.actor, { plan, interval }, nothing);
  }

  /** A checkout, confirmed. */
  async subscribe(plan: PaidPlan, interval: 'month' | 'year' = 'month'): Promise<void> {
    const { id } = await this.open(plan, interval);
    await this.billing.confirm(this.actor.workspaceNo, id, nothing);
  }
}

export async function openBillingFixture(
  provider?: PaymentProvider,
  plan: Plan = 'free',
): Promise<BillingFixture> {
  const app = await openTestApp({ plan, ...(provider === undefined ? {} : { provider }) });
  return new BillingFixture(app);
}
