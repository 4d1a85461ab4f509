/** All campaigns: as a calendar and as a list. */
import { plural } from '../../client/format.ts';
import { useResource } from '../../client/resource.ts';
import { currentQuery, setQuery } from '../../client/router.ts';
import { may } from '../../client/session.ts';
import type { Page as PageOf } from '../../client/wire.ts';
import { ButtonLink } from '../../parts/button.tsx';
import { Badge, Pager, Tabs } from '../../parts/list.tsx';
import { Empty } from '../../parts/notice.tsx';
import { Card, Page, Ready, Skeleton } from '../../parts/page.tsx';
import { Table } from '../../parts/table.tsx';
import { pathTo } from '../../paths.ts';
import { type Campaign, scheduleText, statusLabels, statusTones } from './campaign-labels.ts';
import { Schedule } from './schedule.tsx';

const limit = 50;
const filters = [
  { value: 'all', label: 'All' },
  { value: 'active', label: 'Running' },
  { value: 'scheduled', label: 'Scheduled' },
  { value: 'ended', label: 'Ended' },
] as const;

export function CampaignsPage() {
  const query = currentQuery.value;
  const page = Math.max(1, Number(query.get('page') ?? 1) || 1);
  const status = filters.find(({ value }) => value === query.get('status'))?.value ?? 'all';
  const filter = status === 'all' ? '' : `&status=${status}`;
  const campaigns = useResource<PageOf<Campaign>>(
    `/campaigns?page=${page}&limit=${limit}${filter}`,
  );
  return (
    <Page
      title="Campaigns"
      lead="Group codes under a schedule and compare the results"
      actions={<NewCampaign />}
    >
      <Tabs
        label="Campaigns to show"
        value={status}
        tabs={filters}
        onChange={(value) =>
          setQuery({ status: value === 'all' ? undefined : value, page: undefined })
        }
      />
      <Ready of={campaigns} skeleton={<Skeleton height={400} />}>
        {({ data, total }) =>
          data.length === 0 ? (
            <NoCampaigns isFiltered={status !== 'all'} />
          ) : (
            <div class="stack">
              <Card title="Calendar">
                <Schedule campaigns={data} />
              </Card>
              <CampaignTable campaigns={data} />
              <Pager page={page} limit={limit} total={total} />
            </div>
          )
        }
      </Ready>
    </Page>
  );
}

function NewCampaign() {
  if (!may('editor')) return null;
  return (
    <ButtonLink tone="accent" icon="plus" href={pathTo('newCampaign')}>
      New campaign
    </ButtonLink>
  );
}

function NoCampaigns({ isFiltered }: { readonly isFiltered: boolean }) {
  return (
    <div class="card">
      <Empty icon="calendar" title={isFiltered ? 'No campaigns match' : 'No campaigns yet'}>
        <p>
          A campaign groups codes for a period and shows their results: scans, unique scanners,
          conversions.
        </p>
        {!isFiltered && <NewCampaign />}
      </Empty>
    </div>
  );
}

function CampaignTable({ campaigns }: { readonly campaigns: readonly Campaign[] }) {
  return (
    <div class="card card-flush">
      <Table
        caption="Campaigns"
        columns={['Campaign', 'Status', { wide: 'Schedule, UTC' }, { wide: 'Codes' }]}
      >
        {campaigns.map((campaign) => (
          <tr key={campaign.id}>
            <td>
              <a class="row-title" dir="auto" href={pathTo('campaign', { id: campaign.id })}>
                {campaign.name}
              </a>
            </td>
            <td class="tight">
              <Badge tone={statusTones[campaign.status]}>{statusLabels[campaign.status]}</Badge>
            </td>
            <td class="hide-narrow nowrap">{scheduleText(campaign)}</td>
            <td class="hide-narrow nowrap">{plural(campaign.qrCodeIds.length, 'code')}</td>
          </tr>
        ))}
      </Table>
    </div>
  );
}
