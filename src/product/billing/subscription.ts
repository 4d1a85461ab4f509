/**
 * The life of a subscription: one state, one table, every cell decided.
 *
 *   none --checkout_completed--> active --cancel_asked--> canceling --period_ended--> none
 *                                  |  ^                      |
 *                    payment_failed|  |payment_made          +--resume_asked--> active
 *                                  v  |
 *                                past_due --period_ended--> none
 *
 * `…_asked` comes from a person through the API and may be refused with a reason. The rest are facts,
 * from the scheduler or the payment provider: a fact is never refused, it changes something or nothing, so
 * facts may come twice, late, or in any order. While money is late the plan stays: a period that ends
 * unpaid ends it. Redirects are not in this table: they never depend on billing.
 */
import type { SubscriptionState } from '../../model/billing.ts';
import { Failure } from '../../model/failure.ts';

export const subscriptionEvents = [
  'checkout_completed',
  'change_asked',
  'cancel_asked',
  'resume_asked',
  'period_ended',
  'payment_failed',
  'payment_made',
  'provider_changed',
  'provider_canceled',
  'provider_resumed',
  'provider_renewed',
  'provider_ended',
] as const;
export type SubscriptionEvent = (typeof subscriptionEvents)[number];

/**
 * Effects of a step, apart from the new state:
 * `start` begins the first period and emits `subscription.created`; `change` sets plan and interval and
 * emits `subscription.updated`; `cancel` sets the end and emits `subscription.canceled`; `resume` unsets
 * it; `renew` begins the next period; `end` makes the plan Free; `end_and_emit` makes it Free and emits
 * `subscription.canceled`, which `cancel` did not before; `note` changes the state alone.
 */
export type Effect =
  | 'start'
  | 'change'
  | 'cancel'
  | 'resume'
  | 'renew'
  | 'end'
  | 'end_and_emit'
  | 'note';

export interface Step {
  readonly to: SubscriptionState;
  readonly effect: Effect;
}

interface Refusal {
  readonly refuse: string;
}

type Cell = Step | Refusal | 'stays';

const step = (to: SubscriptionState, effect: Effect): Step => ({ to, effect });
const refuse = (text: string): Refusal => ({ refuse: text });

const noSubscription = 'there is no subscription, expected one; start with a checkout';
const subscribed = 'the workspace has a subscription, expected none; change it instead';

export const transitions: Readonly<
  Record<SubscriptionState, Readonly<Record<SubscriptionEvent, Cell>>>
> = {
  none: {
    checkout_completed: step('active', 'start'),
    change_asked: refuse(noSubscription),
    cancel_asked: refuse(noSubscription),
    resume_asked: refuse(noSubscription),
    period_ended: 'stays',
    payment_failed: 'stays',
    payment_made: 'stays',
    provider_changed: 'stays',
    provider_canceled: 'stays',
    provider_resumed: 'stays',
    provider_renewed: 'stays',
    provider_ended: 'stays',
  },
  active: {
    checkout_completed: refuse(subscribed),
    change_asked: step('active', 'change'),
    cancel_asked: step('canceling', 'cancel'),
    resume_asked: refuse('the subscription is active, expected a canceled one'),
    period_ended: step('active', 'renew'),
    payment_failed: step('past_due', 'note'),
    payment_made: 'stays',
    provider_changed: step('active', 'change'),
    provider_canceled: step('canceling', 'cancel'),
    provider_resumed: 'stays',
    provider_renewed: step('active', 'renew'),
    provider_ended: step('none', 'end_and_emit'),
  },
  past_due: {
    checkout_completed: refuse(subscribed),
    change_asked: refuse('a payment is due, expected it to be made first'),
    cancel_asked: step('canceling', 'cancel'),
    resume_asked: refuse('a payment is due, expected a canceled subscription'),
    period_ended: step('none', 'end_and_emit'),
    payment_failed: 'stays',
    payment_made: step('active', 'note'),
    provider_changed: step('past_due', 'change'),
    provider_canceled: step('canceling', 'cancel'),
    provider_resumed: 'stays',
    provider_renewed: step('past_due', 'renew'),
    provider_ended: step('none', 'end_and_emit'),
  },
  canceling: {
    checkout_completed: refuse(subscribed),
    change_asked: refuse('the subscription is canceled, expected an active one; resume it first'),
    cancel_asked: refuse('the subscription is canceled already, expected an active one'),
    resume_asked: step('active', 'resume'),
    period_ended: step('none', 'end'),
    payment_failed: 'stays',
    payment_made: 'stays',
    provider_changed: step('canceling', 'change'),
    provider_canceled: 'stays',
    provider_resumed: step('active', 'resume'),
    provider_renewed: step('canceling', 'renew'),
    provider_ended: step('none', 'end'),
  },
};

const actions: Readonly<Partial<Record<SubscriptionEvent, string>>> = {
  checkout_completed: 'complete the checkout',
  change_asked: 'change the subscription',
  cancel_asked: 'cancel the subscription',
  resume_asked: 'resume the subscription',
};

/**
 * The step of `event` in `state`; undefined if it has no effect.
 * @throws Failure conflict when a person asked for what the state does not allow
 */
export function transition(state: SubscriptionState, event: SubscriptionEvent): Step | undefined {
  const cell = transitions[state][event];
  if (cell === 'stays') return undefined;
  if ('effect' in cell) return cell;
  throw new Failure('conflict', `Cannot ${actions[event] ?? event}: ${cell.refuse}`);
}
