/** The list of webhook endpoints. */
import { useState } from 'preact/hooks';
import { call } from '../../client/http.ts';
import { invalidate, useResource } from '../../client/resource.ts';
import type { Page as PageOf } from '../../client/wire.ts';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Badge } from '../../parts/list.tsx';
import { Empty } from '../../parts/notice.tsx';
import { Card, Page, Ready, Skeleton } from '../../parts/page.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { pathTo } from '../../paths.ts';
import { EndpointForm } from './endpoint-form.tsx';
import { SigningSecret } from './secret-dialog.tsx';
import {
  type Endpoint,
  eventsText,
  healthLabels,
  healthTones,
  type MadeEndpoint,
} from './webhook-labels.ts';

export function WebhooksPage() {
  const endpoints = useResource<PageOf<Endpoint>>('/webhooks?limit=100');
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<MadeEndpoint>();
  return (
    <Page
      title="Webhooks"
      lead="Signed requests to your programs when something happens"
      actions={
        <>
          <ButtonLink href={pathTo('deadLetters')}>Dead letters</ButtonLink>
          <ButtonLink icon="book" href="/docs/webhooks" isNewTab>
            Receiver guide
          </ButtonLink>
          <Button tone="accent" icon="plus" onClick={() => setMaking(true)}>
            New endpoint
          </Button>
        </>
      }
    >
      <Card class="card-flush">
        <Ready of={endpoints} skeleton={<Skeleton rows={3} />}>
          {({ data }) =>
            data.length === 0 ? (
              <NoEndpoints onNew={() => setMaking(true)} />
            ) : (
              <EndpointTable endpoints={data} />
            )
          }
        </Ready>
      </Card>
      {isMaking && (
        <Dialog title="New endpoint" width="wide" onClose={() => setMaking(false)}>
          <EndpointForm
            action="Create endpoint"
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
        <SigningSecret secret={made.secret} onClose={() => setMade(undefined)} />
      )}
    </Page>
  );
}

function NoEndpoints({ onNew }: { readonly onNew: () => void }) {
  return (
    <Empty icon="hook" title="No endpoints yet">
      <p>An endpoint is your address that receives a signed request for every event you choose.</p>
      <Button tone="accent" icon="plus" onClick={onNew}>
        New endpoint
      </Button>
    </Empty>
  );
}

function EndpointTable({ endpoints }: { readonly endpoints: readonly Endpoint[] }) {
  return (
    <Table
      caption="Endpoints"
      columns={['Endpoint', 'Status', { wide: 'Events' }, { wide: 'Created' }]}
    >
      {endpoints.map(({ id, url, description, health, events, createdAt }) => (
        <tr key={id}>
          <td>
            <a class="row-title break" href={pathTo('webhook', { id })}>
              {url}
            </a>
            {description !== null && <span class="row-sub">{description}</span>}
          </td>
          <td>
            {health && <Badge tone={healthTones[health.state]}>{healthLabels[health.state]}</Badge>}
          </td>
          <td class="hide-narrow soft">{eventsText(events)}</td>
          <td class="hide-narrow soft">
            <Time iso={createdAt} />
          </td>
        </tr>
      ))}
    </Table>
  );
}
