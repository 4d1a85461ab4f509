/** Cancels the subscription, and asks why. */
import { useState } from 'preact/hooks';
import { capitalize } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { invalidate } from '../../client/resource.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { AreaField } from '../../parts/field.tsx';
import { Time } from '../../parts/time.tsx';
import { say } from '../../parts/toast.tsx';
import type { Subscription } from './billing-labels.ts';
import { NoWayBack } from './no-way-back.tsx';

interface CancelProps {
  readonly subscription: Subscription;
  readonly onClose: () => void;
}

export function CancelDialog({ subscription, onClose }: CancelProps) {
  const [reason, setReason] = useState('');
  const cancel = async (): Promise<void> => {
    const body = reason.trim() === '' ? {} : { reason: reason.trim() };
    await call('DELETE', '/billing/subscription', { body });
    invalidate('/billing/subscription', '/events');
    say('Plan cancelled. It stays active until the end of the paid period.');
  };
  const { plan, currentPeriodEnd } = subscription;
  return (
    <Confirm
      title={`Cancel ${capitalize(plan)}?`}
      action="Cancel plan"
      keep={`Keep ${capitalize(plan)}`}
      onConfirm={cancel}
      onClose={onClose}
    >
      <p>
        {capitalize(plan)} stays active{' '}
        {currentPeriodEnd === undefined ? (
          'until the end of the period'
        ) : (
          <>
            until <Time iso={currentPeriodEnd} style="full" />
          </>
        )}
        , then the workspace moves to Free. You can resume until then. Your codes keep redirecting
        either way.
      </p>
      <NoWayBack />
      <AreaField label="Reason" isOptional rows={2} value={reason} onInput={setReason} />
    </Confirm>
  );
}
