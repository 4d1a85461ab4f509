/** The workspace's plan, its usage, and the other plans. */
import { useState } from 'preact/hooks';
import { capitalize, formatNumber } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { invalidate, storeAnswer, useResource } from '../../client/resource.ts';
import { may } from '../../client/session.ts';
import { useForm } from '../../client/use-form.ts';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { AreaField } from '../../parts/field.tsx';
import { Badge, Fact } from '../../parts/list.tsx';
import { Notice, ProblemNotice } from '../../parts/notice.tsx';
import { Card, Page, Ready, Skeleton } from '../../parts/page.tsx';
import { Time } from '../../parts/time.tsx';
import { say } from '../../parts/toast.tsx';
import { pathTo } from '../../paths.ts';
import {
  type Catalogue,
  type Checkout,
  isPaid,
  priceText,
  type Subscription,
  type Usage,
} from './billing-labels.ts';
import { NoWayBack } from './no-way-back.tsx';
import { Plans } from './plans.tsx';

export function BillingPage() {
  const catalogue = useResource<Catalogue>('/billing/plans');
  return (
    <Page title="Billing" lead="Your codes keep redirecting on every plan.">
      <Ready of={catalogue} skeleton={<BillingSkeleton />}>
        {(data) => (data.provider === 'none' ? <NothingSold /> : <Sold catalogue={data} />)}
      </Ready>
    </Page>
  );
}

/** The plan next to its usage. */
function Sold({ catalogue }: { readonly catalogue: Catalogue }) {
  const subscription = useResource<Subscription>('/billing/subscription');
  return (
    <div class="stack">
      <div class="grid-2">
        <Card title="Plan">
          <Ready of={subscription} skeleton={<Skeleton height={74} />}>
            {(data) => <PlanNow subscription={data} />}
          </Ready>
        </Card>
        <UsageCard />
      </div>
      <Ready of={subscription} skeleton={<Skeleton height={260} />}>
        {(data) => <Plans catalogue={catalogue} subscription={data} />}
      </Ready>
    </div>
  );
}

function NothingSold() {
  return (
    <div class="stack">
      <UsageCard />
      <p class="soft">
        Plans have no prices here. Only the operator can change your plan:{' '}
        <a href="/docs/people#sell-plans" target="_blank" rel="noreferrer">
          how to set plans and prices
        </a>
        .
      </p>
    </div>
  );
}

function UsageCard() {
  const usage = useResource<Usage>('/billing/usage');
  return (
    <Card title="Usage">
      <Ready of={usage} skeleton={<Skeleton height={236} />}>
        {(data) => <UsageNow usage={data} />}
      </Ready>
    </Card>
  );
}

function BillingSkeleton() {
  return (
    <div class="grid-2">
      <Skeleton height={236} />
      <Skeleton height={236} />
    </div>
  );
}

const badges = {
  none: undefined,
  active: { tone: 'good', text: 'Active' },
  past_due: { tone: 'bad', text: 'Payment overdue' },
  canceling: { tone: 'warn', text: 'Canceled' },
} as const;

function PlanNow({ subscription }: { readonly subscription: Subscription }) {
  const { plan, status, interval, amount, currency, currentPeriodEnd, effectiveAt } = subscription;
  const badge = badges[status];
  return (
    <div class="form">
      <dl class="facts">
        <Fact label="Plan">
          <b>{capitalize(plan)}</b> {badge && <Badge tone={badge.tone}>{badge.text}</Badge>}
        </Fact>
        {amount !== undefined && currency !== undefined && interval !== undefined && (
          <Fact label="Price">{priceText({ amount, currency }, interval)}</Fact>
        )}
        {currentPeriodEnd !== undefined && status === 'active' && (
          <Fact label="Renews">
            <Time iso={currentPeriodEnd} style="full" />
          </Fact>
        )}
        {effectiveAt !== undefined && status === 'canceling' && (
          <Fact label="Ends">
            <Time iso={effectiveAt} style="full" />
          </Fact>
        )}
      </dl>
      {subscription.openCheckout && <Waiting checkout={subscription.openCheckout} />}
      {status === 'none' && <p class="soft">No paid subscription.</p>}
      {status === 'past_due' && (
        <Notice tone="warn" title="Your last payment is overdue">
          <p>Your plan continues for now. Please check your payment method.</p>
        </Notice>
      )}
      {may('owner') && isPaid(subscription) && <PlanActions subscription={subscription} />}
      {!may('owner') && <p class="soft">Only an owner can change the plan.</p>}
    </div>
  );
}

const waitsFor = {
  owner: 'Waiting for an owner to confirm.',
  operator: 'Waiting for the operator of this installation.',
  payment: 'Waiting for the payment.',
} as const;

function Waiting({ checkout }: { readonly checkout: Checkout }) {
  const { id, plan, interval, confirmedBy, expiresAt } = checkout;
  return (
    <Notice title={`${capitalize(plan)}, ${priceText(checkout, interval)}`}>
      <p>
        {waitsFor[confirmedBy]} It expires <Time iso={expiresAt} style="full" />.
      </p>
      <ButtonLink size="small" href={pathTo('checkout', { id })}>
        Open checkout
      </ButtonLink>
    </Notice>
  );
}

function PlanActions({ subscription }: { readonly subscription: Subscription }) {
  const [isCanceling, setCanceling] = useState(false);
  const form = useForm({});
  const resume = async (): Promise<void> => {
    const answer = await call<Subscription>('POST', '/billing/subscription/resume');
    storeAnswer('/billing/subscription', answer);
    invalidate('/events');
    say('Your plan continues.');
  };
  const portal = async (): Promise<void> => {
    const { url } = await call<{ readonly url: string }>('POST', '/billing/portal');
    location.assign(url);
  };
  return (
    <>
      {form.problem && <ProblemNotice problem={form.problem} />}
      <div class="form-foot">
        {subscription.status === 'canceling' ? (
          <Button tone="accent" isBusy={form.isBusy} onClick={() => form.submit(resume)}>
            Resume plan
          </Button>
        ) : (
          <Button onClick={() => setCanceling(true)}>Cancel plan</Button>
        )}
        {subscription.provider === 'stripe' && (
          <Button icon="open" isBusy={form.isBusy} onClick={() => form.submit(portal)}>
            Payment and invoices
          </Button>
        )}
      </div>
      {isCanceling && (
        <CancelDialog subscription={subscription} onClose={() => setCanceling(false)} />
      )}
    </>
  );
}

interface CancelProps {
  readonly subscription: Subscription;
  readonly onClose: () => void;
}

/** Cancels the subscription, and asks why. */
function CancelDialog({ subscription, onClose }: CancelProps) {
  const [reason, setReason] = useState('');
  const cancel = async (): Promise<void> => {
    const body = reason.trim() === '' ? {} : { reason: reason.trim() };
    await call('DELETE', '/billing/subscription', { body });
    invalidate('/billing/subscription', '/events');
    say('Plan canceled. It stays active until the end of the paid period.');
  };
  const { plan, currentPeriodEnd } = subscription;
  return (
    <Confirm
      title={`Cancel ${capitalize(plan)}?`}
      action="Cancel plan"
      keep={`Keep ${capitalize(plan)}`}
      onConfirm={cancel}
      onClose={onClose}
    >
      <p>
        {capitalize(plan)} stays active{' '}
        {currentPeriodEnd === undefined ? (
          'until the end of the period'
        ) : (
          <>
            until <Time iso={currentPeriodEnd} style="full" />
          </>
        )}
        , then the workspace moves to Free. You can resume until then. Your codes keep redirecting
        either way.
      </p>
      <NoWayBack />
      <AreaField label="Reason" isOptional rows={2} value={reason} onInput={setReason} />
    </Confirm>
  );
}

function UsageNow({ usage }: { readonly usage: Usage }) {
  return (
    <div class="form">
      <Meter label="Requests this minute" used={usage.minute.used} limit={usage.minute.limit} />
      <Meter label="Requests today, UTC" used={usage.day.used} limit={usage.day.limit} />
      <dl class="facts">
        <Fact label="Codes">
          <span class="number">{formatNumber(usage.qrCodes)}</span>
        </Fact>
        <Fact label="Day resets">
          <Time iso={usage.day.resetAt} style="full" />
        </Fact>
      </dl>
      <p class="soft">Only requests with API keys count.</p>
    </div>
  );
}

interface MeterProps {
  readonly label: string;
  readonly used: number;
  readonly limit: number | null;
}

const nearlyFull = 0.9;

function Meter({ label, used, limit }: MeterProps) {
  const share = limit === null ? 0 : Math.min(1, used / limit);
  return (
    <div>
      <p class="meter-text">
        <span>{label}</span>
        <span class="number">
          {formatNumber(used)} {limit === null ? '' : `of ${formatNumber(limit)}`}
        </span>
      </p>
      {limit === null && <p class="field-hint">Unlimited</p>}
      <div
        hidden={limit === null}
        class="meter"
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={limit ?? used}
        aria-valuenow={used}
      >
        <span
          class={`meter-fill${share >= nearlyFull ? ' meter-full' : ''}`}
          style={{ width: `${share * 100}%` }}
        />
      </div>
    </div>
  );
}
