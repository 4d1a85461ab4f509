/**
 * The plans side by side. From Free, a plan starts with a checkout. Paid plans change at once, or with a checkout if
 * the operator confirms upgrades.
 */
import { useState } from 'preact/hooks';
import { plans as planOrder } from '../../../model/workspace.ts';
import { capitalize } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { problemOf } from '../../client/problem.ts';
import { invalidate, storeAnswer } from '../../client/resource.ts';
import { navigate } from '../../client/router.ts';
import { may, noteWorkspace } from '../../client/session.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { Badge, Tabs } from '../../parts/list.tsx';
import { Card } from '../../parts/page.tsx';
import { say } from '../../parts/toast.tsx';
import {
  type Catalogue,
  type Checkout,
  type Interval,
  isPaid,
  limitText,
  type Offer,
  type Price,
  priceText,
  type Subscription,
} from './billing-labels.ts';
import { NoWayBack } from './no-way-back.tsx';

const intervals = [
  { value: 'month', label: 'Monthly' },
  { value: 'year', label: 'Yearly' },
] as const;

interface Choice {
  readonly offer: Offer;
  readonly price: Price;
}

interface PlansProps {
  readonly catalogue: Catalogue;
  readonly subscription: Subscription;
}

export function Plans({ catalogue, subscription }: PlansProps) {
  const [interval, setInterval] = useState<Interval>(subscription.interval ?? 'month');
  const [chosen, setChosen] = useState<Choice>();
  return (
    <Card
      title="Plans"
      actions={
        <Tabs label="Billing interval" value={interval} tabs={intervals} onChange={setInterval} />
      }
    >
      <div class="plans">
        {catalogue.data.map((offer) => (
          <PlanCard
            key={offer.plan}
            offer={offer}
            interval={interval}
            subscription={subscription}
            onChoose={(price) => setChosen({ offer, price })}
          />
        ))}
      </div>
      {chosen !== undefined && (
        <ChoosePlan
          choice={chosen}
          confirmedBy={catalogue.confirmedBy}
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
  readonly confirmedBy: Catalogue['confirmedBy'];
  readonly subscription: Subscription;
  readonly onClose: () => void;
}

/** Explains when the choice takes effect. */
function effectText(isChange: boolean, confirmedBy: Catalogue['confirmedBy']): string {
  if (confirmedBy !== 'operator') {
    return isChange ? 'It takes effect at once.' : 'You are charged only after you confirm.';
  }
  return isChange
    ? 'It takes effect at once. An upgrade waits for the operator of this installation.'
    : 'It takes effect when the operator of this installation confirms it.';
}

/** @returns false if the operator must confirm, which needs a checkout @throws Problem */
async function change(body: {
  readonly plan: string;
  readonly interval: Interval;
}): Promise<boolean> {
  let answer: Subscription;
  try {
    answer = await call<Subscription>('PATCH', '/billing/subscription', { body });
  } catch (error) {
    if (problemOf(error).code === 'checkout_required') return false;
    throw error;
  }
  storeAnswer('/billing/subscription', answer);
  noteWorkspace({ plan: answer.plan });
  invalidate('/billing/usage', '/events');
  say(`You are now on ${capitalize(answer.plan)}.`);
  return true;
}

function ChoosePlan({ choice, confirmedBy, subscription, onClose }: ChooseProps) {
  const { offer, price } = choice;
  const { plan, limits } = offer;
  const body = { plan, interval: price.interval };
  const isChange = isPaid(subscription);
  const choose = async (): Promise<void> => {
    if (isChange && (await change(body))) return;
    const checkout = await call<Checkout>('POST', '/billing/checkout', { body });
    invalidate('/billing/subscription');
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
      <p>{limitText(limits)}.</p>
      <p>{effectText(isChange, confirmedBy)}</p>
      <NoWayBack />
    </Confirm>
  );
}
