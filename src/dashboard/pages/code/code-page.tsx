/** One code: image and destination on top; analytics, where it leads, scans, design, history and details below. */
import { useState } from 'preact/hooks';
import { call } from '../../client/http.ts';
import { useLiveCount } from '../../client/live-count.ts';
import { useLive } from '../../client/live.ts';
import { invalidate, type Resource, storeAnswer, useResource } from '../../client/resource.ts';
import { currentQuery, confirmLeaving, navigate, setQuery } from '../../client/router.ts';
import { may } from '../../client/session.ts';
import type { QrCode } from '../../client/wire.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { Badge, Tabs } from '../../parts/list.tsx';
import { Card, Page, Ready, Skeleton } from '../../parts/page.tsx';
import { Time } from '../../parts/time.tsx';
import { say, sayProblem } from '../../parts/toast.tsx';
import { pathTo } from '../../paths.ts';
import { typeLabel } from '../codes/code-types.ts';
import { StatusBadge } from '../codes/code-status.tsx';
import { nameOf } from '../codes/codes-table.tsx';
import type { PageProps } from '../../shell/page-props.ts';
import { ShareButton } from '../reports/share.tsx';
import { WatchCard } from '../alerts/watch-card.tsx';
import { AnalyticsPart } from './analytics-part.tsx';
import { CodeTop } from './code-top.tsx';
import { Designer } from './designer.tsx';
import { DownloadMenu } from './download-menu.tsx';
import { DetailsPart } from './details-part.tsx';
import { NotWorking } from './not-working.tsx';
import { HistoryPart } from './history-part.tsx';
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

/** Scans of the code since the page loaded, counted live. */
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

/** Pauses or resumes a code: at once, for every print. */
function PauseButton({ code: { id, paused } }: { readonly code: QrCode }) {
  const [isBusy, setBusy] = useState(false);
  const change = async (): Promise<void> => {
    setBusy(true);
    try {
      const body = { paused: !paused };
      storeAnswer(`/qr-codes/${id}`, await call<QrCode>('PATCH', `/qr-codes/${id}`, { body }));
      invalidate('/qr-codes?', '/events');
      say(
        paused ? 'The code works again.' : 'Paused. Prints do not work until you resume the code.',
      );
    } catch (error) {
      sayProblem(error);
    }
    setBusy(false);
  };
  return (
    <Button
      icon={paused ? 'play' : 'pause'}
      tone={paused ? 'accent' : 'plain'}
      isBusy={isBusy}
      onClick={() => void change()}
    >
      {paused ? 'Resume' : 'Pause'}
    </Button>
  );
}

interface DeleteProps {
  readonly code: QrCode;
  readonly onClose: () => void;
}

/** Deletes a code. Its prints stop working forever, so the user must type its name. */
function DeleteCode({ code, onClose }: DeleteProps) {
  const remove = async (): Promise<void> => {
    await call('DELETE', `/qr-codes/${code.id}`);
    say('Code deleted.');
    navigate(pathTo('codes'));
    invalidate('/qr-codes?', '/analytics', '/campaigns');
  };
  return (
    <Confirm
      title="Delete this code permanently?"
      action="Delete permanently"
      typed={code.slug ?? 'delete'}
      onConfirm={remove}
      onClose={onClose}
    >
      {code.dynamic ? (
        <p>
          Its prints stop working. The short code is never used again, so you cannot undo this, not
          even with a new code. Its analytics stay in the API for 90 days.
        </p>
      ) : (
        <p>It disappears from your list. Prints of a static code keep working.</p>
      )}
    </Confirm>
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
