/** Billing on a real store with a first workspace, on a clock that the test moves. */
import { getRandomValues } from 'node:crypto';
import { Billing } from '../../src/billing/billing.ts';
import type { PaymentProvider } from '../../src/billing/provider.ts';
import type { CheckoutRecord, PaidPlan } from '../../src/model/billing.ts';
import { createIdSource } from '../../src/model/ids.ts';
import type { Actor, Plan } from '../../src/model/workspace.ts';
import { Outbox } from '../../src/outbox/outbox.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { openWorkspacesFixture, type WorkspacesFixture } from '../workspaces/workspaces-fixture.ts';

const prices = {
  starter: { month: 9, year: 90 },
  pro: { month: 29, year: 290 },
  business: { month: 99, year: 990 },
  enterprise: { month: 0, year: 0 },
};

export interface EmittedEvent {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface BillingFixture {
  readonly workspaces: WorkspacesFixture;
  readonly actor: Actor;
  readonly logLines: string[];
  billing: Billing;
  /** Closes and opens the store, as a restart does. */
  restart(): Promise<void>;
  plan(): Plan;
  /** Every event so far, oldest first. */
  emitted(): EmittedEvent[];
  /** Entries of the durable timer. */
  due(): Array<[number, number]>;
  open(plan: PaidPlan, interval?: 'month' | 'year'): Promise<CheckoutRecord>;
  /** A checkout, confirmed. */
  subscribe(plan: PaidPlan, interval?: 'month' | 'year'): Promise<void>;
}

const nothing = (): void => undefined;

export async function openBillingFixture(
  provider?: PaymentProvider,
  workspacePlan: Plan = 'free',
): Promise<BillingFixture> {
  const workspaces = await openWorkspacesFixture(workspacePlan);
  const { workspace, user } = workspaces.first;
  const logLines: string[] = [];
  const make = (): Billing => {
    const { clock, temporary, services } = workspaces;
    const ids = createIdSource(clock, getRandomValues);
    return new Billing({
      store: temporary.store,
      outbox: new Outbox(temporary.store, ids, clock),
      ids,
      clock,
      log: createLog('debug', { write: (line) => void logLines.push(line) }),
      plans: services.workspaces,
      prices,
      currency: 'EUR',
      publicUrl: 'http://localhost:8080',
      provider,
    });
  };
  const fixture: BillingFixture = {
    workspaces,
    actor: {
      userId: user.id,
      workspaceId: workspace.id,
      workspaceNo: workspace.no,
      role: 'owner',
      keyId: '',
    },
    logLines,
    billing: make(),
    async restart() {
      await workspaces.restart();
      fixture.billing = make();
    },
    plan: () => fixture.billing.status(workspace.no).workspace.plan,
    emitted: () =>
      [...workspaces.temporary.store.events.range({})].map(({ value }) => JSON.parse(value.body)),
    due: () => [...workspaces.temporary.store.billing.subscriptionDue.keys({})],
    open: (plan, interval = 'month') =>
      fixture.billing.openCheckout(fixture.actor, { plan, interval }, nothing),
    async subscribe(plan, interval = 'month') {
      const { id } = await fixture.open(plan, interval);
      await fixture.billing.confirm(workspace.no, id, nothing);
    },
  };
  return fixture;
}
