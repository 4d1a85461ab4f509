/** One code: image and destination on top; analytics, where it leads, scans, design, history and details below. */
import { useState } from 'preact/hooks';
import { useLiveCount } from '../../client/live-count.ts';
import { useLive } from '../../client/live.ts';
import { invalidate, type Resource, useResource } from '../../client/resource.ts';
import { currentQuery, confirmLeaving, setQuery } from '../../client/router.ts';
import { may } from '../../client/session.ts';
import type { QrCode } from '../../client/wire.ts';
import { Button } from '../../parts/button.tsx';
import { Badge, Tabs } from '../../parts/list.tsx';
import { Card, Page, Ready, Skeleton } from '../../parts/page.tsx';
import { Time } from '../../parts/time.tsx';
import { pathTo } from '../../paths.ts';
import { typeLabel } from '../codes/code-types.ts';
import { StatusBadge } from '../codes/code-status.tsx';
import { nameOf } from '../codes/codes-table.tsx';
import type { PageProps } from '../../shell/page-props.ts';
import { ShareButton } from '../reports/share.tsx';
import { WatchCard } from '../alerts/watch-card.tsx';
import { AnalyticsPart } from './analytics-part.tsx';
import { CodeTop } from './code-top.tsx';
import { DeleteCode } from './delete-code.tsx';
import { Designer } from './designer.tsx';
import { DownloadMenu } from './download-menu.tsx';
import { DetailsPart } from './details-part.tsx';
import { NotWorking } from './not-working.tsx';
import { HistoryPart } from './history-part.tsx';
import { PauseButton } from './pause.tsx';
import { Retarget } from './retarget.tsx';
import { RoutingPart } from './routing/routing-part.tsx';
import { ScansPart } from './scans-part.tsx';

type Action = 'retarget' | 'delete';

export function CodePage({ params }: PageProps) {
  const id = params.id ?? '';
  const code = useResource<QrCode>(`/qr-codes/${id}`);
  const extraScans = useLiveScans(code);
  const [action, setAction] = useState<Action>();
  const close = (): void => setAction(undefined);
  const { data } = code;
  return (
    <Page
      title={data === undefined ? 'Code' : nameOf(data)}
      back={{ href: pathTo('codes'), label: 'Codes' }}
      lead={data && <Lead code={data} />}
      actions={data && <Actions code={data} onAction={setAction} />}
    >
      <Ready of={code} skeleton={<TopSkeleton />}>
        {(shown) => (
          <div class="stack">
            <NotWorking code={shown} />
            <CodeTop
              code={{ ...shown, scans: shown.scans + extraScans }}
              onRetarget={() => setAction('retarget')}
            />
            <Parts code={shown} />
            <WatchCard subject={{ qrCodeId: shown.id }} isScanned={shown.dynamic} />
            {action === 'retarget' && <Retarget code={shown} onClose={close} />}
            {action === 'delete' && <DeleteCode code={shown} onClose={close} />}
          </div>
        )}
      </Ready>
    </Page>
  );
}

/** Each reload reads the code and its analytics: about seven requests. */
const settleMs = 20_000;

/** Scans of the code since it was loaded, counted live. */
function useLiveScans({ data, reload }: Resource<QrCode>): number {
  const id = data?.dynamic === true ? data.id : undefined;
  const counted = useLiveCount(settleMs, async () => {
    await reload();
    invalidate(`/qr-codes/${id}/analytics`);
  });
  const address = id === undefined ? undefined : `/v1/events/stream?code=${id}&event=qr.scanned`;
  useLive((event) => {
    if (event.event === 'qr.scanned' && event.data.qrId === id) counted.add();
  }, address);
  return counted.extra;
}

function Lead({ code }: { readonly code: QrCode }) {
  return (
    <>
      <Badge tone={code.dynamic ? 'accent' : 'plain'}>{code.dynamic ? 'Dynamic' : 'Static'}</Badge>{' '}
      <StatusBadge status={code.status} /> {typeLabel(code.type)}, created{' '}
      <Time iso={code.createdAt} />
    </>
  );
}

interface ActionsProps {
  readonly code: QrCode;
  readonly onAction: (action: Action) => void;
}

function Actions({ code, onAction }: ActionsProps) {
  return (
    <>
      <DownloadMenu code={code} />
      {may('editor') && code.dynamic && <ShareButton of={{ qrCodeId: code.id }} />}
      {may('editor') && code.dynamic && <PauseButton code={code} />}
      {may('editor') && (
        <Button icon="trash" label="Delete this code" onClick={() => onAction('delete')} />
      )}
    </>
  );
}

const dynamicTabs = [
  { value: 'analytics', label: 'Analytics' },
  { value: 'routes', label: 'Where it leads' },
  { value: 'scans', label: 'Scans' },
  { value: 'design', label: 'Design' },
  { value: 'history', label: 'History' },
  { value: 'details', label: 'Details' },
] as const;
type Part = (typeof dynamicTabs)[number]['value'];

function Parts({ code }: { readonly code: QrCode }) {
  const tabs = dynamicTabs.filter(
    ({ value }) => code.dynamic || value === 'design' || value === 'details',
  );
  const first = tabs[0]?.value ?? 'details';
  const chosen = tabs.find(({ value }) => value === currentQuery.value.get('part'))?.value ?? first;
  return (
    <>
      <Tabs<Part>
        variant="line"
        label="Parts of this page"
        value={chosen}
        tabs={tabs}
        onChange={(part) => {
          if (confirmLeaving()) setQuery({ part: part === first ? undefined : part });
        }}
      />
      {chosen === 'analytics' && <AnalyticsPart code={code} />}
      {chosen === 'routes' && <RoutingPart key={code.id} code={code} />}
      {chosen === 'scans' && <ScansPart code={code} />}
      {chosen === 'design' && <Designer code={code} />}
      {chosen === 'history' && <HistoryPart code={code} />}
      {chosen === 'details' && <DetailsPart code={code} />}
    </>
  );
}

const pictureHeight = 232;
function TopSkeleton() {
  return (
    <Card>
      <div class="code-top">
        <Skeleton height={pictureHeight} />
        <Skeleton lines={5} />
      </div>
    </Card>
  );
}
