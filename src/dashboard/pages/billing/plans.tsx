/** The plans side by side. From Free, a plan starts with a checkout; between paid plans it changes at once. */
import { useState } from 'preact/hooks';
import { plans as planOrder } from '../../../model/workspace.ts';
import { capitalize } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { invalidate, storeAnswer, useResource } from '../../client/resource.ts';
import { navigate } from '../../client/router.ts';
import { may, noteWorkspace } from '../../client/session.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { Badge, Tabs } from '../../parts/list.tsx';
import { Card, Ready, Skeleton } from '../../parts/page.tsx';
import { say } from '../../parts/toast.tsx';
import {
  type Checkout,
  type Interval,
  isPaid,
  limitText,
  type Offer,
  type Price,
  priceText,
  type Subscription,
} from './billing-labels.ts';

const intervals = [
  { value: 'month', label: 'Monthly' },
  { value: 'year', label: 'Yearly' },
] as const;

interface Choice {
  readonly offer: Offer;
  readonly price: Price;
}

export function Plans({ subscription }: { readonly subscription: Subscription }) {
  const offers = useResource<{ readonly data: readonly Offer[] }>('/billing/plans');
  const [interval, setInterval] = useState<Interval>(subscription.interval ?? 'month');
  const [chosen, setChosen] = useState<Choice>();
  return (
    <Card
      title="Plans"
      actions={
        <Tabs label="Billing interval" value={interval} tabs={intervals} onChange={setInterval} />
      }
    >
      <Ready of={offers} skeleton={<Skeleton height={220} />}>
        {({ data }) => (
          <div class="plans">
            {data.map((offer) => (
              <PlanCard
                key={offer.plan}
                offer={offer}
                interval={interval}
                subscription={subscription}
                onChoose={(price) => setChosen({ offer, price })}
              />
            ))}
          </div>
        )}
      </Ready>
      {chosen !== undefined && (
        <ChoosePlan
          choice={chosen}
          subscription={subscription}
          onClose={() => setChosen(undefined)}
        />
      )}
    </Card>
  );
}

interface PlanProps {
  readonly offer: Offer;
  readonly interval: Interval;
  readonly subscription: Subscription;
  readonly onChoose: (price: Price) => void;
}

function PlanCard({ offer, interval, subscription, onChoose }: PlanProps) {
  const { plan, limits, prices } = offer;
  const price = prices.find((one) => one.interval === interval);
  const isHere = plan === subscription.plan;
  const isSame = isHere && (!isPaid(subscription) || subscription.interval === interval);
  const isUp = planOrder.indexOf(plan) > planOrder.indexOf(subscription.plan);
  const word = isHere ? `Switch to ${interval}ly` : isUp ? 'Upgrade' : 'Downgrade';
  return (
    <div class={`plan${isHere ? ' plan-current' : ''}`}>
      <h3>
        {capitalize(plan)} {isHere && <Badge tone="accent">Current</Badge>}
      </h3>
      <p class="plan-price">
        <PriceText plan={plan} price={price} />
      </p>
      <p class="soft">{limitText(limits)}</p>
      {may('owner') && price !== undefined && !isSame && (
        <Button tone={isUp ? 'accent' : 'plain'} onClick={() => onChoose(price)}>
          {word}
        </Button>
      )}
    </div>
  );
}

function PriceText({ plan, price }: { readonly plan: string; readonly price: Price | undefined }) {
  if (price === undefined) return <b>{plan === 'free' ? 'No charge' : 'Custom'}</b>;
  const [amount, span] = priceText(price, price.interval).split(' a ');
  return (
    <>
      <b>{amount}</b> <span class="soft">a {span}</span>
    </>
  );
}

interface ChooseProps {
  readonly choice: Choice;
  readonly subscription: Subscription;
  readonly onClose: () => void;
}

function ChoosePlan({ choice: { offer, price }, subscription, onClose }: ChooseProps) {
  const { plan } = offer;
  const body = { plan, interval: price.interval };
  const isChange = isPaid(subscription);
  const choose = async (): Promise<void> => {
    if (isChange) {
      const answer = await call<Subscription>('PATCH', '/billing/subscription', { body });
      storeAnswer('/billing/subscription', answer);
      noteWorkspace({ plan: answer.plan });
      invalidate('/billing/usage', '/events');
      say(`You are now on ${capitalize(answer.plan)}.`);
      return;
    }
    const checkout = await call<Checkout>('POST', '/billing/checkout', { body });
    const url = new URL(checkout.url);
    // A payment provider has its own page.
    if (url.origin === location.origin) navigate(url.pathname);
    else location.assign(checkout.url);
  };
  return (
    <Confirm
      title={`${capitalize(plan)}, ${priceText(price, price.interval)}`}
      action={isChange ? 'Change plan' : 'Go to checkout'}
      tone="accent"
      onConfirm={choose}
      onClose={onClose}
    >
      <p>{limitText(offer.limits)}.</p>
      <p>{isChange ? 'It takes effect at once.' : 'Nothing is charged until you confirm.'}</p>
    </Confirm>
  );
}
