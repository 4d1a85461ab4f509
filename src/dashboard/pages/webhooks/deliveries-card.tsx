/** The deliveries of an endpoint, newest first. */
import { useEffect, useState } from 'preact/hooks';
import { usePolling, useResource } from '../../client/resource.ts';
import type { Page as PageOf } from '../../client/wire.ts';
import { Button } from '../../parts/button.tsx';
import { Badge, Tabs } from '../../parts/list.tsx';
import { Empty } from '../../parts/notice.tsx';
import { Card, Ready, Skeleton } from '../../parts/page.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { pathTo } from '../../paths.ts';
import { attemptText, type Delivery, deliveryLabels, deliveryTones } from './webhook-labels.ts';

const filters = [
  { value: 'all', label: 'All' },
  { value: 'pending', label: 'Waiting' },
  { value: 'delivered', label: 'Delivered' },
  { value: 'dead', label: 'Dead' },
] as const;
type Filter = (typeof filters)[number]['value'];

const limit = 25;

export function DeliveriesCard({ endpointId }: { readonly endpointId: string }) {
  const [filter, setFilter] = useState<Filter>('all');
  const [page, setPage] = useState(1);
  useEffect(() => setPage(1), [filter]);
  const state = filter === 'all' ? '' : `&state=${filter}`;
  const path = `/webhooks/${endpointId}/deliveries?page=${page}&limit=${limit}${state}`;
  const deliveries = useResource<PageOf<Delivery>>(path);
  usePolling(
    deliveries.data?.data.some((delivery) => delivery.state === 'pending') ?? false,
    deliveries,
  );
  const actions = (
    <>
      <Tabs label="Deliveries to show" value={filter} tabs={filters} onChange={setFilter} />
      <Button
        size="small"
        icon="refresh"
        label="Refresh"
        isBusy={deliveries.isLoading}
        onClick={() => void deliveries.reload()}
      />
    </>
  );
  return (
    <Card class="card-flush" title="Deliveries" actions={actions}>
      <Ready of={deliveries} skeleton={<Skeleton rows={5} />}>
        {({ data, total }) => (
          <>
            {data.length === 0 && <Empty icon="hook" title="No deliveries" />}
            {data.length > 0 && <DeliveryTable deliveries={data} />}
            {total > limit && (
              <div class="table-foot">
                <Button disabled={page === 1} onClick={() => setPage(page - 1)}>
                  Newer
                </Button>
                <Button disabled={page * limit >= total} onClick={() => setPage(page + 1)}>
                  Older
                </Button>
              </div>
            )}
          </>
        )}
      </Ready>
    </Card>
  );
}

function DeliveryTable({ deliveries }: { readonly deliveries: readonly Delivery[] }) {
  return (
    <Table
      caption="Deliveries, newest first"
      columns={['Event', 'Status', { wide: 'Last attempt' }, { wide: 'Next attempt' }]}
    >
      {deliveries.map((delivery) => (
        <DeliveryRow key={delivery.id} delivery={delivery} />
      ))}
    </Table>
  );
}

function DeliveryRow({ delivery }: { readonly delivery: Delivery }) {
  const { id, event, eventIds, state, attemptCount, lastAttempt, nextAttemptAt, createdAt } =
    delivery;
  return (
    <tr>
      <td>
        <a class="row-title" href={pathTo('delivery', { id })}>
          {event}
          {eventIds.length > 1 && ` × ${eventIds.length}`}
        </a>
        <span class="row-sub">
          <Time iso={createdAt} />
        </span>
      </td>
      <td>
        <Badge tone={deliveryTones[state]}>{deliveryLabels[state]}</Badge>
      </td>
      <td class="hide-narrow">
        {lastAttempt === null ? <span class="soft">None yet</span> : attemptText(lastAttempt)}
        {attemptCount > 1 && <span class="row-sub">{attemptCount} attempts</span>}
      </td>
      <td class="hide-narrow soft">
        {nextAttemptAt === null ? '—' : <Time iso={nextAttemptAt} />}
      </td>
    </tr>
  );
}
