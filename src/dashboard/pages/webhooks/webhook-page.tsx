/** One endpoint: status, events, a test, and its deliveries. */
import { useState } from 'preact/hooks';
import { type EventKind, eventKinds } from '../../../model/event.ts';
import { formatNumber, plural } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { invalidate, useResource } from '../../client/resource.ts';
import { useForm } from '../../client/use-form.ts';
import { Button } from '../../parts/button.tsx';
import { SelectField } from '../../parts/field.tsx';
import { Form } from '../../parts/form.tsx';
import { Badge, Fact } from '../../parts/list.tsx';
import { Notice } from '../../parts/notice.tsx';
import { Card, Page, Ready, Skeleton } from '../../parts/page.tsx';
import { Time } from '../../parts/time.tsx';
import { say, sayProblem } from '../../parts/toast.tsx';
import { pathTo } from '../../paths.ts';
import type { PageProps } from '../../shell/page-props.ts';
import { DeliveriesCard } from './deliveries-card.tsx';
import { type EndpointAction, EndpointActions } from './endpoint-actions.tsx';
import {
  type Attempt,
  attemptText,
  disabledReasons,
  type Endpoint,
  eventsText,
  healthLabels,
  healthTones,
} from './webhook-labels.ts';

export function WebhookPage({ params }: PageProps) {
  const id = params.id ?? '';
  const endpoint = useResource<Endpoint>(`/webhooks/${id}`);
  const [action, setAction] = useState<EndpointAction>();
  const { data } = endpoint;
  return (
    <Page
      title={data?.url ?? 'Endpoint'}
      back={{ href: pathTo('webhooks'), label: 'Webhooks' }}
      lead={data?.description}
      actions={
        data && (
          <>
            <Button icon="edit" onClick={() => setAction('edit')}>
              Edit
            </Button>
            <Button icon="key" onClick={() => setAction('rotate')}>
              Rotate secret
            </Button>
            <Button icon="trash" label="Delete this endpoint" onClick={() => setAction('delete')} />
          </>
        )
      }
    >
      <Ready of={endpoint} skeleton={<Skeleton height={420} />}>
        {(shown) => (
          <div class="stack">
            <Off endpoint={shown} />
            <div class="grid-2">
              <StateCard endpoint={shown} />
              <TestCard endpointId={id} />
            </div>
            <DeliveriesCard endpointId={id} />
            <EndpointActions
              endpoint={shown}
              action={action}
              onClose={() => setAction(undefined)}
            />
          </div>
        )}
      </Ready>
    </Page>
  );
}

function Off({ endpoint: { id, status, disabledReason } }: { readonly endpoint: Endpoint }) {
  const [isBusy, setBusy] = useState(false);
  if (status === 'enabled') return null;
  const enable = async (): Promise<void> => {
    setBusy(true);
    try {
      await call('PATCH', `/webhooks/${id}`, { body: { status: 'enabled' } });
      invalidate('/webhooks');
      say('Endpoint turned on. It receives new events.');
    } catch (error) {
      sayProblem(error);
    }
    setBusy(false);
  };
  return (
    <Notice tone="warn" title="This endpoint is off">
      <p>{disabledReasons[disabledReason ?? 'by_hand']}</p>
      {disabledReason !== 'secret_lost' && (
        <Button isBusy={isBusy} onClick={() => void enable()}>
          Turn it on
        </Button>
      )}
    </Notice>
  );
}

function StateCard({ endpoint }: { readonly endpoint: Endpoint }) {
  const { health, events, maxBatch, olderSecretsEndAt } = endpoint;
  return (
    <Card title="Status">
      <dl class="facts">
        {health !== undefined && (
          <>
            <Fact label="Health">
              <Badge tone={healthTones[health.state]}>{healthLabels[health.state]}</Badge>
              {health.consecutiveFailures > 0 &&
                ` ${plural(health.consecutiveFailures, 'failure')} in a row`}
            </Fact>
            <Fact label="Last success">
              {health.lastSuccessAt === null ? 'Never' : <Time iso={health.lastSuccessAt} />}
            </Fact>
            <Fact label="Last failure">
              {health.lastFailureAt === null ? 'Never' : <Time iso={health.lastFailureAt} />}
            </Fact>
            <Fact label="Waiting">
              <span class="number">{formatNumber(health.waiting)}</span>
            </Fact>
          </>
        )}
        <Fact label="Events">{eventsText(events)}</Fact>
        <Fact label="Batch size">Up to {maxBatch} scans per request</Fact>
        {olderSecretsEndAt !== null && (
          <Fact label="Old secrets expire">
            <Time iso={olderSecretsEndAt} />
          </Fact>
        )}
      </dl>
    </Card>
  );
}

interface TestResult {
  readonly delivered: boolean;
  readonly attempt: Attempt;
}

const kinds = eventKinds.map((value) => ({ value, label: value }));

/** Sends a signed sample event, and shows the receiver's answer. */
function TestCard({ endpointId }: { readonly endpointId: string }) {
  const [kind, setKind] = useState<EventKind>('qr.scanned');
  const [result, setResult] = useState<TestResult>();
  const form = useForm({});
  const test = async (): Promise<void> => {
    setResult(undefined);
    const body = { event: kind };
    setResult(await call<TestResult>('POST', `/webhooks/${endpointId}/test`, { body }));
    invalidate(`/webhooks/${endpointId}`);
  };
  return (
    <Card title="Test" lead="Sends a signed sample event now.">
      <div class="form">
        <Form form={form} action="Send test" tone="plain" onSubmit={test}>
          <SelectField label="Event" value={kind} options={kinds} onChange={setKind} />
        </Form>
        <div aria-live="polite">
          {result !== undefined && (
            <Notice
              tone={result.delivered ? 'good' : 'warn'}
              title={`${attemptText(result.attempt)}, after ${Math.round(result.attempt.durationMs)} ms`}
            >
              {result.attempt.answer !== null && result.attempt.answer !== '' && (
                <pre class="answer" tabIndex={0}>
                  {result.attempt.answer}
                </pre>
              )}
            </Notice>
          )}
        </div>
      </div>
    </Card>
  );
}
