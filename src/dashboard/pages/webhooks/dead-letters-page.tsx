/** Dead letters: deliveries that failed eight times, kept for seven days for a replay. */
import { useState } from 'preact/hooks';
import { now } from '../../client/browser-clock.ts';
import { formatNumber, shortAddress, utcDay } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { invalidate, useResource } from '../../client/resource.ts';
import { currentQuery } from '../../client/router.ts';
import type { Page as PageOf } from '../../client/wire.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { TextField } from '../../parts/field.tsx';
import { Pager } from '../../parts/list.tsx';
import { Empty } from '../../parts/notice.tsx';
import { Card, Page, Ready, Skeleton } from '../../parts/page.tsx';
import { actionsColumn, Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { say, sayProblem } from '../../parts/toast.tsx';
import { pathTo } from '../../paths.ts';
import { attemptText, type DeadLetter, type Endpoint } from './webhook-labels.ts';

const limit = 25;
const keptDays = 7;

export function DeadLettersPage() {
  const page = Math.max(1, Number(currentQuery.value.get('page') ?? 1) || 1);
  const letters = useResource<PageOf<DeadLetter>>(
    `/webhooks/dead-letters?page=${page}&limit=${limit}`,
  );
  const [isReplaying, setReplaying] = useState(false);
  const hasAny = (letters.data?.total ?? 0) > 0;
  return (
    <Page
      title="Dead letters"
      back={{ href: pathTo('webhooks'), label: 'Webhooks' }}
      lead="Events not delivered after eight attempts, kept for seven days"
      actions={
        hasAny && (
          <Button tone="accent" icon="refresh" onClick={() => setReplaying(true)}>
            Replay by date
          </Button>
        )
      }
    >
      <Ready of={letters} skeleton={<LettersSkeleton />}>
        {({ data, total }) => (
          <>
            <Card class="card-flush">
              {data.length === 0 ? (
                <Empty icon="check" title="No dead letters" />
              ) : (
                <LetterTable letters={data} />
              )}
            </Card>
            <Pager page={page} limit={limit} total={total} />
          </>
        )}
      </Ready>
      {isReplaying && <ReplayMany onClose={() => setReplaying(false)} />}
    </Page>
  );
}

function LettersSkeleton() {
  return (
    <Card class="card-flush">
      <Skeleton rows={5} />
    </Card>
  );
}

async function replay(id: string): Promise<void> {
  try {
    await call('POST', `/webhooks/dead-letters/${id}/replay`);
    say('Queued for delivery.');
  } catch (error) {
    sayProblem(error);
  }
  invalidate('/webhooks');
}

function LetterTable({ letters }: { readonly letters: readonly DeadLetter[] }) {
  const endpoints = useResource<PageOf<Endpoint>>('/webhooks?limit=100');
  const urlOf = (endpointId: string | null): string =>
    endpoints.data?.data.find(({ id }) => id === endpointId)?.url ?? 'Deleted endpoint';
  return (
    <Table
      caption="Dead letters, newest first"
      columns={[
        'Event',
        { wide: 'Endpoint' },
        { wide: 'Last attempt' },
        { wide: 'Expires' },
        actionsColumn,
      ]}
    >
      {letters.map(({ id, event, endpointId, deadAt, expiresAt, lastAttempt }) => (
        <tr key={id}>
          <td>
            <a class="row-title" href={pathTo('delivery', { id })}>
              {event}
            </a>
            <span class="row-sub">
              Dead <Time iso={deadAt} />
            </span>
          </td>
          <td class="hide-narrow soft break">
            {endpoints.data === undefined ? '…' : shortAddress(urlOf(endpointId))}
          </td>
          <td class="hide-narrow">{lastAttempt === null ? '—' : attemptText(lastAttempt)}</td>
          <td class="hide-narrow soft">
            <Time iso={expiresAt} />
          </td>
          <td class="tight">
            <Button size="small" icon="refresh" onClick={() => void replay(id)}>
              Replay
            </Button>
          </td>
        </tr>
      ))}
    </Table>
  );
}

function ReplayMany({ onClose }: { readonly onClose: () => void }) {
  const today = utcDay(now());
  const [from, setFrom] = useState(utcDay(now(), -keptDays));
  const [to, setTo] = useState(today);
  const send = async (): Promise<void> => {
    const path = '/webhooks/dead-letters/replay';
    const { replayed } = await call<{ readonly replayed: number }>('POST', path, {
      body: { from, to },
    });
    invalidate('/webhooks');
    say(`${formatNumber(replayed)} queued for delivery.`);
  };
  return (
    <Confirm
      title="Replay dead letters"
      action="Replay"
      tone="accent"
      onConfirm={send}
      onClose={onClose}
    >
      <p>
        Sends all dead letters of these days again with the same event IDs, so that receivers can
        ignore duplicates.
      </p>
      <div class="form-row">
        <TextField label="From, UTC" type="date" value={from} max={to} onInput={setFrom} />
        <TextField label="To, UTC" type="date" value={to} min={from} max={today} onInput={setTo} />
      </div>
    </Confirm>
  );
}
