/** All alerts of the workspace, and their incidents. */
import { useState } from 'preact/hooks';
import { useResource } from '../../client/resource.ts';
import { currentQuery } from '../../client/router.ts';
import { may } from '../../client/session.ts';
import type { Page as PageOf } from '../../client/wire.ts';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { Badge, Pager } from '../../parts/list.tsx';
import { Empty } from '../../parts/notice.tsx';
import { Card, Page, Ready, Skeleton } from '../../parts/page.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import {
  endLabels,
  type Incident,
  type IncidentList,
  incidentText,
  stateLabels,
  stateTones,
  subjectAddress,
  type Watch,
} from './alert-labels.ts';
import { WatchActions, WatchStatus } from './watch-card.tsx';
import { WatchForm } from './watch-form.tsx';

const perPage = 20;
const incidentsShown = 50;

export function AlertsPage() {
  const page = Math.max(1, Number(currentQuery.value.get('page') ?? '1') || 1);
  const watches = useResource<PageOf<Watch>>(`/watches?limit=${perPage}&page=${page}`);
  const incidents = useResource<IncidentList>(`/watches/incidents?limit=${incidentsShown}`);
  const [isMaking, setMaking] = useState(false);
  return (
    <Page
      title="Alerts"
      lead="Get notified when scans stop, spike, or a destination fails"
      actions={
        <>
          <ButtonLink icon="book" href="/docs/alerts" isNewTab>
            Guide
          </ButtonLink>
          {may('editor') && (
            <Button tone="accent" icon="plus" onClick={() => setMaking(true)}>
              New alert
            </Button>
          )}
        </>
      }
    >
      <div class="stack">
        <Card class="card-flush" title="Alerts">
          <Ready of={watches} skeleton={<Skeleton rows={3} />}>
            {(list) => <WatchTable list={list} />}
          </Ready>
        </Card>
        <Card class="card-flush" title="Incidents" lead="Newest first">
          <Ready of={incidents} skeleton={<Skeleton rows={3} />}>
            {({ data }) => <IncidentTable incidents={data} />}
          </Ready>
        </Card>
      </div>
      {isMaking && <WatchForm subject={{}} isScanned onClose={() => setMaking(false)} />}
    </Page>
  );
}

function WatchTable({ list }: { readonly list: PageOf<Watch> }) {
  if (list.total === 0) {
    return (
      <Empty icon="warning" title="No alerts yet">
        <p>Create an alert for the workspace here, or for a code or campaign on its page.</p>
      </Empty>
    );
  }
  return (
    <>
      <Table caption="Alerts" columns={['For', 'State', 'Actions']}>
        {list.data.map((watch) => (
          <tr key={watch.id}>
            <td>
              <a class="row-title break" dir="auto" href={subjectAddress(watch)}>
                {watch.name ?? 'Deleted'}
              </a>
              <span class="row-sub">{kindOf(watch)}</span>
            </td>
            <td>
              <WatchStatus watch={watch} />
            </td>
            <td>
              <WatchActions watch={watch} isScanned />
            </td>
          </tr>
        ))}
      </Table>
      <Pager page={list.page} limit={list.limit} total={list.total} />
    </>
  );
}

function kindOf({ qrCodeId, campaignId }: Pick<Watch, 'qrCodeId' | 'campaignId'>): string {
  if (qrCodeId !== null) return 'Code';
  return campaignId === null ? 'Workspace' : 'Campaign';
}

function IncidentTable({ incidents }: { readonly incidents: readonly Incident[] }) {
  if (incidents.length === 0) return <Empty icon="check" title="No incidents" />;
  return (
    <Table caption="Incidents" columns={['Incident', 'State', { wide: 'Since' }]}>
      {incidents.map((incident) => (
        <tr key={incident.id}>
          <td>
            <a class="row-title break" dir="auto" href={subjectAddress(incident)}>
              {incident.name}
            </a>
            <span class="row-sub break">{incidentText(incident)}</span>
          </td>
          <td>
            {incident.endedBy === null ? (
              <Badge tone={stateTones[incident.kind]}>{stateLabels[incident.kind]}</Badge>
            ) : (
              <span class="soft">{endLabels[incident.endedBy]}</span>
            )}
            {incident.endedAt !== null && (
              <span class="row-sub">
                <Time iso={incident.endedAt} />
              </span>
            )}
          </td>
          <td class="hide-narrow soft">
            <Time iso={incident.since} />
          </td>
        </tr>
      ))}
    </Table>
  );
}
