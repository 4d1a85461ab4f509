/** Dialogs to edit and delete an endpoint and to rotate its secret. */
import { useState } from 'preact/hooks';
import { call } from '../../client/http.ts';
import { invalidate } from '../../client/resource.ts';
import { navigate } from '../../client/router.ts';
import { Confirm, Dialog } from '../../parts/dialog.tsx';
import { CheckField } from '../../parts/field.tsx';
import { say } from '../../parts/toast.tsx';
import { pathTo } from '../../paths.ts';
import { type Overlap, OverlapField } from '../settings/rotate-key.tsx';
import { EndpointForm } from './endpoint-form.tsx';
import { SigningSecret } from './secret-dialog.tsx';
import type { Endpoint, MadeEndpoint } from './webhook-labels.ts';

export type EndpointAction = 'edit' | 'rotate' | 'delete';

interface ActionsProps {
  readonly endpoint: Endpoint;
  readonly action: EndpointAction | undefined;
  readonly onClose: () => void;
}

export function EndpointActions({ endpoint, action, onClose }: ActionsProps) {
  const [secret, setSecret] = useState<string>();
  return (
    <>
      {action === 'edit' && <Edit endpoint={endpoint} onClose={onClose} />}
      {action === 'rotate' && <Rotate endpoint={endpoint} onMade={setSecret} onClose={onClose} />}
      {action === 'delete' && <Delete endpoint={endpoint} onClose={onClose} />}
      {secret !== undefined && (
        <SigningSecret secret={secret} onClose={() => setSecret(undefined)} />
      )}
    </>
  );
}

interface ActionProps {
  readonly endpoint: Endpoint;
  readonly onClose: () => void;
}

function Edit({ endpoint, onClose }: ActionProps) {
  const [isOn, setOn] = useState(endpoint.status === 'enabled');
  return (
    <Dialog title="Edit endpoint" width="wide" onClose={onClose}>
      <CheckField
        label="On"
        hint="Events that happen while it is off are not sent later."
        checked={isOn}
        onChange={setOn}
      />
      <EndpointForm
        start={endpoint}
        action="Save changes"
        onCancel={onClose}
        onSave={async ({ description, ...rest }) => {
          const status = isOn ? 'enabled' : 'disabled';
          const changed = status === endpoint.status ? {} : { status };
          const body = { ...rest, description: description ?? null, ...changed };
          await call('PATCH', `/webhooks/${endpoint.id}`, { body });
          invalidate('/webhooks');
          say('Changes saved.');
          onClose();
        }}
      />
    </Dialog>
  );
}

function Rotate({
  endpoint,
  onMade,
  onClose,
}: ActionProps & { readonly onMade: (secret: string) => void }) {
  const [overlap, setOverlap] = useState<Overlap>('86400');
  const rotate = async (): Promise<void> => {
    const body = { overlapSeconds: Number(overlap) };
    const path = `/webhooks/${endpoint.id}/rotate-secret`;
    onMade((await call<MadeEndpoint>('POST', path, { body })).secret);
    invalidate(`/webhooks/${endpoint.id}`);
  };
  return (
    <Confirm
      title="Rotate the signing secret?"
      action="Create new secret"
      tone={overlap === '0' ? 'danger' : 'accent'}
      onConfirm={rotate}
      onClose={onClose}
    >
      <p>Until the old secret expires, both sign each delivery, so that your program can switch.</p>
      <OverlapField
        what="secret"
        value={overlap}
        onChange={setOverlap}
        warning="Your program refuses deliveries until it has the new secret."
      />
    </Confirm>
  );
}

function Delete({ endpoint: { id, url }, onClose }: ActionProps) {
  const remove = async (): Promise<void> => {
    await call('DELETE', `/webhooks/${id}`);
    say('Endpoint deleted.');
    navigate(pathTo('webhooks'));
    invalidate('/webhooks?');
  };
  return (
    <Confirm title="Delete this endpoint?" action="Delete" onConfirm={remove} onClose={onClose}>
      <p>
        <b class="break">{url}</b> receives no more events, and waiting deliveries are discarded.
      </p>
    </Confirm>
  );
}
