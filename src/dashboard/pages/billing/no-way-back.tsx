/** Warns a workspace on a plan without a price: it cannot return to the plan by itself. */
import { capitalize } from '../../client/format.ts';
import { useResource } from '../../client/resource.ts';
import { currentSession } from '../../client/session.ts';
import { Notice } from '../../parts/notice.tsx';
import type { Catalogue } from './billing-labels.ts';

export function NoWayBack() {
  const { plan } = currentSession().workspace;
  const { data } = useResource<Catalogue>('/billing/plans');
  const offer = data?.data.find((one) => one.plan === plan);
  if (plan === 'free' || offer === undefined || offer.prices.length > 0) return null;
  const text = `You cannot come back to ${capitalize(plan)} from here: only the operator can set it.`;
  return <Notice tone="warn" title={text} />;
}
