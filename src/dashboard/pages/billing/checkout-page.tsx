/**
 * A checkout: plan, price, and the owner's confirmation. Searched in the current workspace, then in the user's other
 * workspaces as owner.
 */
import { useEffect, useState } from 'preact/hooks';
import { capitalize, formatMoment } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { type Problem, problemOf } from '../../client/problem.ts';
import { useLive } from '../../client/live.ts';
import { invalidate } from '../../client/resource.ts';
import { currentSession, noteWorkspace, switchWorkspace } from '../../client/session.ts';
import { useForm } from '../../client/use-form.ts';
import { useRetry } from '../../client/use-retry.ts';
import type { Page as PageOf, Workspace } from '../../client/wire.ts';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { CopyLine } from '../../parts/copy.tsx';
import { Badge } from '../../parts/list.tsx';
import { Empty, Notice, ProblemNotice } from '../../parts/notice.tsx';
import { Card, Page, Skeleton } from '../../parts/page.tsx';
import { sayProblem } from '../../parts/toast.tsx';
import { pathTo } from '../../paths.ts';
import type { PageProps } from '../../shell/page-props.ts';
import { type Checkout, priceText } from './billing-labels.ts';
import { NoWayBack } from './no-way-back.tsx';

/** The checkout in this workspace, or the workspace that has it. @throws Problem if not found */
async function findCheckout(id: string): Promise<Checkout> {
  const path = `/billing/checkout/${id}`;
  try {
    return await call<Checkout>('GET', path);
  } catch (error) {
    const problem = problemOf(error);
    if (problem.status !== 404) throw problem;
    const { data } = await call<PageOf<Workspace>>('GET', '/workspaces?limit=100');
    const here = currentSession().workspace.id;
    const others = data.filter((workspace) => workspace.role === 'owner' && workspace.id !== here);
    for (const workspace of others) {
      await call('POST', `/workspaces/${workspace.id}/switch`);
      const found = await call<Checkout>('GET', path).catch(() => undefined);
      if (found === undefined) continue;
      await switchWorkspace(workspace.id);
      return found;
    }
    if (others.length > 0) await call('POST', `/workspaces/${here}/switch`);
    throw problem;
  }
}

const confirmationsAddress = '/v1/events/stream?event=subscription.created,subscription.updated';

/** The checkout after an event of the subscription. */
async function readConfirmed(id: string, show: (checkout: Checkout) => void): Promise<void> {
  try {
    const checkout = await call<Checkout>('GET', `/billing/checkout/${id}`);
    show(checkout);
    if (checkout.status !== 'complete') return;
    noteWorkspace({ plan: checkout.plan });
    invalidate('/billing', '/events');
  } catch (error) {
    sayProblem(error);
  }
}

export function CheckoutPage({ params }: PageProps) {
  const id = params.id ?? '';
  const [checkout, setCheckout] = useState<Checkout>();
  const [problem, setProblem] = useState<Problem>();
  const read = (): void => {
    setProblem(undefined);
    findCheckout(id).then(setCheckout, (error: unknown) => setProblem(problemOf(error)));
  };
  useEffect(read, [id]);
  useRetry(problem, read);
  const isWaiting = checkout?.status === 'open' && checkout.confirmedBy === 'operator';
  const live = useLive(
    ({ event }) => {
      if (event.startsWith('subscription.')) void readConfirmed(id, setCheckout);
    },
    isWaiting ? confirmationsAddress : undefined,
  );
  useEffect(() => {
    // It may have been confirmed before the stream began.
    if (isWaiting && live === 'live') void readConfirmed(id, setCheckout);
  }, [isWaiting, live]);
  return (
    <Page title="Checkout" back={{ href: pathTo('billing'), label: 'Billing' }}>
      <div class="page-narrow stack">
        {problem?.status === 404 && (
          <Empty icon="card" title="Checkout not found">
            <p>
              It may be older than a month or belong to a workspace that you do not own, or the
              address may be incomplete.
            </p>
          </Empty>
        )}
        {problem !== undefined && problem.status !== 404 && (
          <ProblemNotice problem={problem} onRetry={read} />
        )}
        {checkout === undefined && problem === undefined && <Skeleton height={220} />}
        {checkout !== undefined && <Bill checkout={checkout} onChange={setCheckout} />}
        <p class="soft">Your codes keep working: redirects never depend on billing.</p>
      </div>
    </Page>
  );
}

interface BillProps {
  readonly checkout: Checkout;
  readonly onChange: (checkout: Checkout) => void;
}

function Bill({ checkout, onChange }: BillProps) {
  const { plan, interval, status } = checkout;
  return (
    <Card>
      <div class="form">
        <p class="bill-price">
          <b>{capitalize(plan)}</b>
          <span class="number">{priceText(checkout, interval)}</span>
        </p>
        <p class="soft">Workspace: {currentSession().workspace.name}</p>
        {status === 'open' && <Open checkout={checkout} onChange={onChange} />}
        {status === 'complete' && (
          <>
            <Notice tone="good" title="Thank you. Your plan is active">
              <p>The new limits apply now.</p>
            </Notice>
            <div class="form-foot">
              <ButtonLink href={pathTo('billing')}>Go to billing</ButtonLink>
            </div>
          </>
        )}
        {status === 'expired' && (
          <Notice title="This checkout has expired. You were not charged." />
        )}
        {status === 'replaced' && (
          <Notice title="A newer checkout replaces this one. You were not charged here." />
        )}
      </div>
    </Card>
  );
}

function Open({ checkout, onChange }: BillProps) {
  const form = useForm({});
  const url = new URL(checkout.url);
  const confirm = async (): Promise<void> => {
    const path = `/billing/checkout/${checkout.id}/confirm`;
    onChange(await call<Checkout>('POST', path));
    noteWorkspace({ plan: checkout.plan });
    invalidate('/billing', '/events');
  };
  if (url.origin !== location.origin) {
    return (
      <>
        <p>Just paid? The confirmation can take a few seconds; reload this page.</p>
        <div class="form-foot">
          <a class="button button-accent button-medium" href={checkout.url}>
            Continue to payment
          </a>
        </div>
      </>
    );
  }
  if (checkout.confirmedBy === 'operator') return <WaitsForOperator checkout={checkout} />;
  return (
    <>
      <p>
        <Badge tone="accent">Open</Badge> until {formatMoment(checkout.expiresAt)}. It takes effect
        when an owner confirms it.
      </p>
      <NoWayBack />
      {form.problem && <ProblemNotice problem={form.problem} />}
      <div class="form-foot">
        <Button tone="accent" isBusy={form.isBusy} onClick={() => form.submit(confirm)}>
          Confirm and start the plan
        </Button>
        <ButtonLink tone="quiet" href={pathTo('billing')}>
          Not now
        </ButtonLink>
      </div>
    </>
  );
}

function WaitsForOperator({ checkout: { id, expiresAt } }: Pick<BillProps, 'checkout'>) {
  return (
    <Notice title="Waiting for the operator">
      <p>
        The plan starts when the operator of this installation confirms it by{' '}
        {formatMoment(expiresAt)}. This page then updates by itself. The operator’s command:
      </p>
      <CopyLine label="command" text={`quietzone billing confirm ${id}`} />
    </Notice>
  );
}
