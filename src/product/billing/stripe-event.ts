/**
 * Which subscription a Stripe event is about. Events come in the version of the account, newer or older
 * than the package's types, so they are read field by field; all else is fetched in the package's own.
 */
import { Failure } from '../../model/failure.ts';
import type { ProviderEvent } from './provider.ts';

/** Ids of Stripe are shorter; ours become keys of a table. */
const idPattern = /^[\w-]{1,255}$/;

/** @param event verified @throws Failure invalid_json when it is not an event */
export function readEvent(event: unknown): ProviderEvent {
  const [id, type] = [text(event, 'id'), text(event, 'type')];
  if (id === undefined || type === undefined || !idPattern.test(id)) {
    throw new Failure('invalid_json', 'Cannot read the event: it has no id or type');
  }
  const subscriptionId = subscriptionOf(type, field(field(event, 'data'), 'object'));
  const isId = subscriptionId !== undefined && idPattern.test(subscriptionId);
  return { id, type, subscriptionId: isId ? subscriptionId : undefined };
}

function subscriptionOf(type: string, object: unknown): string | undefined {
  if (type.startsWith('customer.subscription.')) return text(object, 'id');
  if (type.startsWith('checkout.session.')) return idOf(field(object, 'subscription'));
  if (!type.startsWith('invoice.')) return undefined;
  const details = field(field(object, 'parent'), 'subscription_details');
  // Versions before 2025-03-31 have it on the invoice itself.
  return idOf(field(details, 'subscription')) ?? idOf(field(object, 'subscription'));
}

/** An object by its id, or the object itself where it was expanded. */
function idOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : text(value, 'id');
}

function text(value: unknown, name: string): string | undefined {
  const found = field(value, name);
  return typeof found === 'string' ? found : undefined;
}

function field(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.entries(value).find(([key]) => key === name)?.[1];
}
