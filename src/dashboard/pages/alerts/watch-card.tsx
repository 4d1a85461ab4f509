/** The alerts of a code or a campaign, and a button for a new one. */
import { useState } from 'preact/hooks';
import { call } from '../../client/http.ts';
import { invalidate, useResource } from '../../client/resource.ts';
import { may } from '../../client/session.ts';
import type { Page as PageOf } from '../../client/wire.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { Badge } from '../../parts/list.tsx';
import { Card, Ready, Skeleton } from '../../parts/page.tsx';
import { Time } from '../../parts/time.tsx';
import { say } from '../../parts/toast.tsx';
import {
  faultText,
  incidentText,
  rulesText,
  stateLabels,
  stateTones,
  type Watch,
} from './alert-labels.ts';
import { WatchForm, type WatchSubject } from './watch-form.tsx';

interface CardProps {
  readonly subject: WatchSubject;
  readonly isScanned?: boolean;
}

export function WatchCard({ subject, isScanned = true }: CardProps) {
  const { qrCodeId, campaignId } = subject;
  const filter = qrCodeId === undefined ? `campaignId=${campaignId}` : `qrCodeId=${qrCodeId}`;
  const watches = useResource<PageOf<Watch>>(`/watches?${filter}&limit=100`);
  const [isMaking, setMaking] = useState(false);
  const make = may('editor') && (
    <Button icon="plus" onClick={() => setMaking(true)}>
      New alert
    </Button>
  );
  return (
    <Card
      title="Alerts"
      lead="Get notified when scans stop, spike, or a destination fails"
      actions={make}
    >
      <Ready of={watches} skeleton={<Skeleton lines={1} />}>
        {({ data }) =>
          data.length === 0 ? (
            <p class="soft">No alerts yet.</p>
          ) : (
            <div class="stack">
              {data.map((watch) => (
                <WatchRow key={watch.id} watch={watch} isScanned={isScanned} />
              ))}
            </div>
          )
        }
      </Ready>
      {isMaking && (
        <WatchForm subject={subject} isScanned={isScanned} onClose={() => setMaking(false)} />
      )}
    </Card>
  );
}

function WatchRow({ watch, isScanned }: { readonly watch: Watch; readonly isScanned: boolean }) {
  return (
    <div>
      <WatchStatus watch={watch} /> <WatchActions watch={watch} isScanned={isScanned} />
    </div>
  );
}

/** State, rules and open incidents. */
export function WatchStatus({ watch }: { readonly watch: Watch }) {
  const { state, idle, incidents, lastFault, checkedAt, targetCheckedAt } = watch;
  const lookedAt = checkedAt ?? targetCheckedAt;
  return (
    <>
      <Badge tone={stateTones[state]}>{stateLabels[state]}</Badge> Alerts on: {rulesText(watch)}.
      {idle === 'learning' && <span class="row-sub">Learning what is usual, for two weeks.</span>}
      {idle === 'inactive' && <span class="row-sub">Paused: this code does not redirect now.</span>}
      {incidents.map((incident) => (
        <span key={incident.id} class="row-sub break">
          {incidentText(incident)}, since <Time iso={incident.since} />
        </span>
      ))}
      {(state === 'ok' || state === 'pending') && lastFault !== null && (
        <span class="row-sub break">
          Last error <Time iso={lastFault.at} />: {faultText(lastFault.fault, lastFault.status)}
        </span>
      )}
      {lookedAt !== null && (
        <span class="row-sub">
          Last check <Time iso={lookedAt} />
        </span>
      )}
    </>
  );
}

export function WatchActions({
  watch,
  isScanned,
}: {
  readonly watch: Watch;
  readonly isScanned: boolean;
}) {
  const [action, setAction] = useState<'change' | 'delete'>();
  const close = (): void => setAction(undefined);
  if (!may('editor')) return null;
  return (
    <>
      <Button size="small" icon="edit" label="Edit the alert" onClick={() => setAction('change')} />
      <Button
        size="small"
        icon="trash"
        label="Delete the alert"
        onClick={() => setAction('delete')}
      />
      {action === 'change' && (
        <WatchForm watch={watch} subject={{}} isScanned={isScanned} onClose={close} />
      )}
      {action === 'delete' && (
        <Confirm
          title="Delete this alert?"
          action="Delete"
          onClose={close}
          onConfirm={async () => {
            await call('DELETE', `/watches/${watch.id}`);
            invalidate('/watches');
            say('Alert deleted.');
          }}
        >
          <p>You get no more notifications. Past incidents stay in the list.</p>
        </Confirm>
      )}
    </>
  );
}
