/** One campaign: its schedule and its results. */
import { useMemo, useState } from 'preact/hooks';
import type { Totals } from '../../analytics/state/answers.ts';
import { momentsOfCampaign } from '../../analytics/state/flags.ts';
import { subjectOf } from '../../analytics/state/requests.ts';
import { Explore } from '../../analytics/view/explore.tsx';
import { useView } from '../../analytics/view/use-analytics.ts';
import { now } from '../../client/browser-clock.ts';
import { formatNumber, formatPercent } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { invalidate, storeAnswer, useResource } from '../../client/resource.ts';
import { navigate } from '../../client/router.ts';
import { may } from '../../client/session.ts';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { Confirm, Dialog } from '../../parts/dialog.tsx';
import { ConversionFigures } from '../../parts/figures.tsx';
import { Badge } from '../../parts/list.tsx';
import { Empty, Notice } from '../../parts/notice.tsx';
import { Card, Page, Ready, Skeleton } from '../../parts/page.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { say } from '../../parts/toast.tsx';
import { pathTo } from '../../paths.ts';
import type { PageProps } from '../../shell/page-props.ts';
import { WatchCard } from '../alerts/watch-card.tsx';
import { Attribution } from '../code/analytics-part.tsx';
import { nameOf } from '../codes/codes-table.tsx';
import { ShareButton } from '../reports/share.tsx';
import { CampaignForm, campaignBody } from './campaign-form.tsx';
import {
  type Campaign,
  type CampaignWithCodes,
  daysOfSchedule,
  scheduleText,
  statusLabels,
  statusTones,
} from './campaign-labels.ts';

interface CampaignTotals extends Totals {
  readonly conversions: number;
  readonly conversionValue: number;
  readonly conversionRate: number;
  readonly codes: ReadonlyArray<{
    readonly qrCodeId: string;
    readonly name: string | null;
    readonly target: string | null;
    readonly deleted: boolean;
    readonly totalScans: number;
    readonly conversions: number;
    readonly conversionValue: number;
  }>;
}

type Action = 'edit' | 'delete';

export function CampaignPage({ params }: PageProps) {
  const id = params.id ?? '';
  const campaign = useResource<CampaignWithCodes>(`/campaigns/${id}`);
  const [action, setAction] = useState<Action>();
  const { data } = campaign;
  const close = (): void => setAction(undefined);
  return (
    <Page
      title={data?.name ?? 'Campaign'}
      back={{ href: pathTo('campaigns'), label: 'Campaigns' }}
      lead={data && <Lead campaign={data} />}
      actions={data && may('editor') && <Actions campaign={data} onAction={setAction} />}
    >
      <Ready of={campaign} skeleton={<Skeleton height={480} />}>
        {(shown) => (
          <>
            {shown.result && <Result campaign={shown} />}
            {action === 'edit' && <Edit campaign={shown} onClose={close} />}
            {action === 'delete' && <Delete campaign={shown} onClose={close} />}
            <Numbers campaign={shown} />
          </>
        )}
      </Ready>
      <WatchCard subject={{ campaignId: id }} />
    </Page>
  );
}

function Lead({ campaign }: { readonly campaign: Campaign }) {
  return (
    <>
      <Badge tone={statusTones[campaign.status]}>{statusLabels[campaign.status]}</Badge>{' '}
      {scheduleText(campaign)}, UTC
    </>
  );
}

interface ActionsProps {
  readonly campaign: Campaign;
  readonly onAction: (action: Action) => void;
}

function Actions({ campaign, onAction }: ActionsProps) {
  return (
    <>
      <ButtonLink icon="code" href={`${pathTo('codes')}?campaign=${campaign.id}`}>
        View codes
      </ButtonLink>
      <ShareButton of={{ campaignId: campaign.id }} />
      {campaign.status !== 'ended' && (
        <Button icon="edit" onClick={() => onAction('edit')}>
          Edit
        </Button>
      )}
      <Button icon="trash" label="Delete this campaign" onClick={() => onAction('delete')} />
    </>
  );
}

function Result({ campaign: { result } }: { readonly campaign: Campaign }) {
  if (result === null || result === undefined) return null;
  return (
    <Notice title="This campaign has ended">
      <p>
        {formatNumber(result.totalScans)} scans by {formatNumber(result.uniqueScanners)} unique
        scanners, {formatPercent(result.conversionRate)} conversion rate. Closed{' '}
        <Time iso={result.endedAt} />.
      </p>
    </Notice>
  );
}

const wholeSchedule = { preset: 'all', compare: 'none' } as const;

function Numbers({ campaign }: { readonly campaign: Campaign }) {
  const view = useView({
    subject: subjectOf('campaign', campaign.id),
    wholeOf: (today) => daysOfSchedule(campaign, today),
    standard: wholeSchedule,
  });
  return (
    <div class="stack">
      <Explore<CampaignTotals>
        view={view}
        moments={useMemo(() => momentsOfCampaign(campaign, 'Campaign', now()), [campaign])}
        figures={({ conversions, conversionValue, conversionRate }) => (
          <ConversionFigures count={conversions} value={conversionValue} rate={conversionRate} />
        )}
      >
        {(totals) => totals !== undefined && <CodeShares codes={totals.codes} />}
      </Explore>
      <Attribution />
    </div>
  );
}

const rowsMax = 20;

function CodeShares({ codes }: Pick<CampaignTotals, 'codes'>) {
  const rows = codes.slice(0, rowsMax);
  return (
    <Card class="card-flush" title="Codes">
      {rows.length === 0 && <Empty icon="code" title="No codes in this campaign" />}
      {rows.length > 0 && (
        <Table caption="Scans by code" columns={['Code', { end: 'Scans' }, { end: 'Conversions' }]}>
          {rows.map(
            ({ qrCodeId, name, target, deleted, totalScans, conversions, conversionValue }) => (
              <tr key={qrCodeId}>
                <td>
                  {deleted || target === null ? (
                    <span class="soft">Deleted</span>
                  ) : (
                    <a class="row-title" dir="auto" href={pathTo('code', { id: qrCodeId })}>
                      {nameOf({ name, target })}
                    </a>
                  )}
                </td>
                <td class="number">{formatNumber(totalScans)}</td>
                <td class="number">
                  {formatNumber(conversions)}
                  {conversionValue > 0 && (
                    <span class="row-sub">Value {formatNumber(conversionValue)}</span>
                  )}
                </td>
              </tr>
            ),
          )}
        </Table>
      )}
    </Card>
  );
}

interface ActionProps {
  readonly campaign: CampaignWithCodes;
  readonly onClose: () => void;
}

function Edit({ campaign, onClose }: ActionProps) {
  const { id, name, startDate, endDate, qrCodeIds, qrCodes } = campaign;
  const start = { texts: { name, startDate, endDate: endDate ?? '' }, qrCodeIds, qrCodes };
  return (
    <Dialog title="Edit campaign" width="wide" onClose={onClose}>
      <CampaignForm
        start={start}
        action="Save changes"
        onCancel={onClose}
        onSave={async (draft) => {
          const body = campaignBody(draft);
          storeAnswer(
            `/campaigns/${id}`,
            await call<CampaignWithCodes>('PATCH', `/campaigns/${id}`, { body }),
          );
          invalidate('/campaigns?', `/campaigns/${id}/analytics`);
          say('Changes saved.');
          onClose();
        }}
      />
    </Dialog>
  );
}

function Delete({ campaign: { id, name }, onClose }: ActionProps) {
  const remove = async (): Promise<void> => {
    await call('DELETE', `/campaigns/${id}`);
    say('Campaign deleted.');
    navigate(pathTo('campaigns'));
    invalidate('/campaigns?');
  };
  return (
    <Confirm title="Delete this campaign?" action="Delete" onConfirm={remove} onClose={onClose}>
      <p>
        <b>{name}</b> and its results are deleted. Its codes stay and keep all their scans.
      </p>
    </Confirm>
  );
}
