/** One delivery: its body, every attempt, and a button to send it again. */
import { useState } from 'preact/hooks';
import { call } from '../../client/http.ts';
import { invalidate, usePolling, useResource } from '../../client/resource.ts';
import { navigate } from '../../client/router.ts';
import { Button } from '../../parts/button.tsx';
import { Badge, Fact } from '../../parts/list.tsx';
import { Empty } from '../../parts/notice.tsx';
import { Card, Page, Ready, Skeleton } from '../../parts/page.tsx';
import { Time } from '../../parts/time.tsx';
import { say, sayProblem } from '../../parts/toast.tsx';
import { pathTo } from '../../paths.ts';
import type { PageProps } from '../../shell/page-props.ts';
import {
  type Attempt,
  attemptText,
  deliveryLabels,
  deliveryTones,
  type WholeDelivery,
} from './webhook-labels.ts';

export function DeliveryPage({ params }: PageProps) {
  const id = params.id ?? '';
  const delivery = useResource<WholeDelivery>(`/webhooks/deliveries/${id}`);
  const { data } = delivery;
  usePolling(data?.state === 'pending', delivery);
  const back =
    data === undefined || data.endpointId === null
      ? { href: pathTo('webhooks'), label: 'Webhooks' }
      : { href: pathTo('webhook', { id: data.endpointId }), label: 'Endpoint' };
  return (
    <Page
      title={data?.event ?? 'Delivery'}
      back={back}
      lead={data && <Badge tone={deliveryTones[data.state]}>{deliveryLabels[data.state]}</Badge>}
      actions={data && data.endpointId !== null && <SendAgain delivery={data} />}
    >
      <Ready of={delivery} skeleton={<Skeleton height={420} />}>
        {(shown) => <Whole delivery={shown} />}
      </Ready>
    </Page>
  );
}

function SendAgain({ delivery: { id, state } }: { readonly delivery: WholeDelivery }) {
  const [isBusy, setBusy] = useState(false);
  const isDead = state === 'dead';
  const path = isDead
    ? `/webhooks/dead-letters/${id}/replay`
    : `/webhooks/deliveries/${id}/redeliver`;
  const send = async (): Promise<void> => {
    setBusy(true);
    try {
      const made = await call<{ readonly id: string }>('POST', path);
      invalidate('/webhooks');
      say('Queued for delivery under the same event ID.');
      navigate(pathTo('delivery', { id: made.id }));
    } catch (error) {
      sayProblem(error);
    }
    setBusy(false);
  };
  return (
    <Button icon="refresh" isBusy={isBusy} onClick={() => void send()}>
      {isDead ? 'Replay' : 'Send again'}
    </Button>
  );
}

function Whole({ delivery }: { readonly delivery: WholeDelivery }) {
  const { id, eventIds, createdAt, nextAttemptAt, attempts, body } = delivery;
  return (
    <div class="grid-2">
      <div class="stack">
        <Card title="Delivery">
          <dl class="facts">
            <Fact label="ID">
              <code>{id}</code>
            </Fact>
            <Fact label={eventIds.length === 1 ? 'Event ID' : `${eventIds.length} events`}>
              {eventIds.slice(0, 5).map((eventId) => (
                <div key={eventId}>
                  <code>{eventId}</code>
                </div>
              ))}
            </Fact>
            <Fact label="Created">
              <Time iso={createdAt} style="exact" />
            </Fact>
            {nextAttemptAt !== null && (
              <Fact label="Next attempt">
                <Time iso={nextAttemptAt} style="exact" />
              </Fact>
            )}
          </dl>
        </Card>
        <Card title="Payload">
          <pre class="answer" tabIndex={0}>
            {pretty(body)}
          </pre>
        </Card>
      </div>
      <Card title="Attempts" lead="Oldest first">
        {attempts.length === 0 && <Empty icon="hook" title="None yet" />}
        <ol>
          {attempts.map((attempt, index) => (
            <AttemptRow key={attempt.at} attempt={attempt} no={index + 1} />
          ))}
        </ol>
      </Card>
    </div>
  );
}

function AttemptRow({ attempt, no }: { readonly attempt: Attempt; readonly no: number }) {
  const { at, durationMs, remoteIp, failure, answer } = attempt;
  return (
    <li class="attempt">
      <p>
        <Badge tone={failure === null ? 'good' : 'bad'}>{no}</Badge> <b>{attemptText(attempt)}</b>
      </p>
      <p class="soft">
        <Time iso={at} style="exact" />, {Math.round(durationMs)} ms
        {remoteIp !== null && `, ${remoteIp}`}
      </p>
      {answer !== null && answer !== '' && (
        <pre class="answer" tabIndex={0}>
          {answer}
        </pre>
      )}
    </li>
  );
}

/** Indented for reading; the exact bytes have no spaces. */
function pretty(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
