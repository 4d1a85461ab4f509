/** Where events are sent: the endpoints. */
import { useState } from 'preact/hooks';
import { call } from '../../client/http.ts';
import { invalidate, useResource } from '../../client/resource.ts';
import type { Page as PageOf } from '../../client/wire.ts';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Badge } from '../../parts/list.tsx';
import { Empty } from '../../parts/notice.tsx';
import { Card, Page, Ready, Skeleton } from '../../parts/page.tsx';
import { Time } from '../../parts/time.tsx';
import { pathTo } from '../../paths.ts';
import { EndpointForm } from './endpoint-form.tsx';
import { SecretDialog } from './secret-dialog.tsx';
import { type Endpoint, eventsText, type MadeEndpoint } from './webhook-words.ts';

export function WebhooksPage() {
  const endpoints = useResource<PageOf<Endpoint>>('/webhooks?limit=100');
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<MadeEndpoint>();
  return (
    <Page
      title="Webhooks"
      lead="What happens here, told to your programs, signed, and again until they have it"
      actions={
        <>
          <ButtonLink href={pathTo('deadLetters')}>Dead letters</ButtonLink>
          <ButtonLink icon="book" href="/docs/webhooks" isNewTab>
            For receivers
          </ButtonLink>
          <Button tone="accent" icon="plus" onClick={() => setMaking(true)}>
            New endpoint
          </Button>
        </>
      }
    >
      <Card class="card-flush">
        <Ready of={endpoints} skeleton={<Skeleton height={200} />}>
          {({ data }) => (data.length === 0 ? <NoEndpoints /> : <EndpointTable endpoints={data} />)}
        </Ready>
      </Card>
      {isMaking && (
        <Dialog title="New endpoint" width="wide" onClose={() => setMaking(false)}>
          <EndpointForm
            action="Make the endpoint"
            onCancel={() => setMaking(false)}
            onSave={async (body) => {
              setMade(await call<MadeEndpoint>('POST', '/webhooks', { body }));
              setMaking(false);
              invalidate('/webhooks?');
            }}
          />
        </Dialog>
      )}
      {made !== undefined && (
        <SecretDialog secret={made.secret} onClose={() => setMade(undefined)} />
      )}
    </Page>
  );
}

function NoEndpoints() {
  return (
    <Empty icon="hook" title="No endpoints yet">
      <p>An endpoint is an address of yours that gets a request for every event you choose.</p>
    </Empty>
  );
}

function EndpointTable({ endpoints }: { readonly endpoints: readonly Endpoint[] }) {
  return (
    <div class="table-wrap">
      <table class="table">
        <caption class="unseen">Endpoints</caption>
        <thead>
          <tr>
            <th scope="col">Endpoint</th>
            <th scope="col">State</th>
            <th scope="col" class="hide-narrow">
              Gets
            </th>
            <th scope="col" class="hide-narrow">
              Made
            </th>
          </tr>
        </thead>
        <tbody>
          {endpoints.map(({ id, url, description, status, events, createdAt }) => (
            <tr key={id}>
              <td>
                <a class="row-title break" href={pathTo('webhook', { id })}>
                  {url}
                </a>
                {description !== null && <span class="row-sub">{description}</span>}
              </td>
              <td>
                <Badge tone={status === 'enabled' ? 'good' : 'bad'}>
                  {status === 'enabled' ? 'On' : 'Off'}
                </Badge>
              </td>
              <td class="hide-narrow soft">{eventsText(events)}</td>
              <td class="hide-narrow soft">
                <Time iso={createdAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
