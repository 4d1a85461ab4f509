/** API keys: create, rotate, revoke. A secret is shown once. */
import { DialogForm } from '../../parts/form.tsx';
import { useState } from 'preact/hooks';
import type { Role } from '../../../model/workspace.ts';
import { now } from '../../client/browser-clock.ts';
import { capitalize } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { invalidate, useResource } from '../../client/resource.ts';
import { currentSession } from '../../client/session.ts';
import { useForm } from '../../client/use-form.ts';
import type { Page as PageOf } from '../../client/wire.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm, Dialog, SecretDialog } from '../../parts/dialog.tsx';
import { SelectField, TextField } from '../../parts/field.tsx';
import { Badge } from '../../parts/list.tsx';
import { Empty } from '../../parts/notice.tsx';
import { Card, Page, Ready, Skeleton } from '../../parts/page.tsx';
import { actionsColumn, Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { say } from '../../parts/toast.tsx';
import { rolesUpTo } from '../team/role-options.ts';
import type { ApiKey, MadeKey } from './api-key-labels.ts';
import { RotateKey } from './rotate-key.tsx';

type Action =
  | { readonly kind: 'create' }
  | { readonly kind: 'rotate'; readonly key: ApiKey }
  | { readonly kind: 'revoke'; readonly key: ApiKey }
  | { readonly kind: 'show'; readonly key: MadeKey };

export function ApiKeysPage() {
  const keys = useResource<PageOf<ApiKey>>('/api-keys?limit=100');
  const [action, setAction] = useState<Action>();
  const close = (): void => setAction(undefined);
  const show = (key: MadeKey): void => {
    invalidate('/api-keys');
    setAction({ kind: 'show', key });
  };
  return (
    <Page
      title="API keys"
      lead="Give your own programs access to the API."
      actions={
        <Button tone="accent" icon="plus" onClick={() => setAction({ kind: 'create' })}>
          New key
        </Button>
      }
    >
      <Card class="card-flush">
        <Ready of={keys} skeleton={<Skeleton rows={3} />}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty icon="key" title="No keys yet">
                <p>A key lets your program create codes and read analytics.</p>
                <Button tone="accent" icon="plus" onClick={() => setAction({ kind: 'create' })}>
                  New key
                </Button>
              </Empty>
            ) : (
              <KeyTable keys={data} onAction={setAction} />
            )
          }
        </Ready>
      </Card>
      {action?.kind === 'create' && <CreateKey onMade={show} onClose={close} />}
      {action?.kind === 'rotate' && <RotateKey of={action.key} onMade={show} onClose={close} />}
      {action?.kind === 'show' && <ShowKey made={action.key} onClose={close} />}
      {action?.kind === 'revoke' && <RevokeKey of={action.key} onClose={close} />}
    </Page>
  );
}

function stateOf({ revokedAt, expiresAt }: ApiKey): 'revoked' | 'expired' | 'valid' {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && Date.parse(expiresAt) <= now() ? 'expired' : 'valid';
}

interface TableProps {
  readonly keys: readonly ApiKey[];
  readonly onAction: (action: Action) => void;
}

function KeyTable({ keys, onAction }: TableProps) {
  return (
    <Table
      caption="API keys"
      columns={['Key', 'Status', { wide: 'Last used' }, { wide: 'Expires' }, actionsColumn]}
    >
      {keys.map((key) => (
        <KeyRow key={key.id} of={key} onAction={onAction} />
      ))}
    </Table>
  );
}

function KeyRow({
  of,
  onAction,
}: {
  readonly of: ApiKey;
  readonly onAction: (action: Action) => void;
}) {
  const state = stateOf(of);
  return (
    <tr>
      <td>
        <span class="row-title">{of.name}</span>
        <span class="row-sub">
          {capitalize(of.role)}, created <Time iso={of.createdAt} />
        </span>
      </td>
      <td>
        <Badge tone={state === 'valid' ? 'good' : 'plain'}>{capitalize(state)}</Badge>
      </td>
      <td class="hide-narrow soft">
        {of.lastUsedAt === null ? 'Never' : <Time iso={of.lastUsedAt} />}
      </td>
      <td class="hide-narrow soft">
        {of.expiresAt === null ? 'Never' : <Time iso={of.expiresAt} />}
      </td>
      <td class="tight">
        {state === 'valid' && (
          <span class="row-actions">
            <Button
              tone="quiet"
              icon="refresh"
              label={`Rotate ${of.name}`}
              onClick={() => onAction({ kind: 'rotate', key: of })}
            />
            <Button
              tone="quiet"
              icon="trash"
              label={`Revoke ${of.name}`}
              onClick={() => onAction({ kind: 'revoke', key: of })}
            />
          </span>
        )}
      </td>
    </tr>
  );
}

interface CreateProps {
  readonly onMade: (key: MadeKey) => void;
  readonly onClose: () => void;
}

function CreateKey({ onMade, onClose }: CreateProps) {
  const [role, setRole] = useState<Role>('editor');
  const form = useForm({ name: '', expiresAt: '' });
  const create = async (): Promise<void> => {
    const { name, expiresAt } = form.texts;
    const ends = expiresAt === '' ? {} : { expiresAt: new Date(expiresAt).toISOString() };
    const body = { name: name.trim(), role, ...ends };
    onMade(await call<MadeKey>('POST', '/api-keys', { body }));
  };
  return (
    <Dialog title="New API key" onClose={onClose}>
      <DialogForm form={form} action="Create key" onSubmit={create} onClose={onClose}>
        <TextField
          label="Name"
          {...form.field('name')}
          hint="What this key is for"
          hasFocus
          lengthMax={120}
        />
        <SelectField
          label="Role"
          value={role}
          options={rolesUpTo(currentSession().workspace.role)}
          onChange={setRole}
        />
        <TextField
          label="Expires at"
          isOptional
          type="datetime-local"
          {...form.field('expiresAt')}
        />
      </DialogForm>
    </Dialog>
  );
}

interface ShowProps {
  readonly made: MadeKey;
  readonly onClose: () => void;
}

function ShowKey({ made: { name, key }, onClose }: ShowProps) {
  return (
    <SecretDialog
      title={`Your new key “${name}”`}
      secret={key}
      label="the API key"
      onClose={onClose}
    >
      Store it safely: anyone who has it can act with its role.
    </SecretDialog>
  );
}

interface RevokeProps {
  readonly of: ApiKey;
  readonly onClose: () => void;
}

function RevokeKey({ of, onClose }: RevokeProps) {
  const revoke = async (): Promise<void> => {
    await call('DELETE', `/api-keys/${of.id}`);
    invalidate('/api-keys');
    say(`${of.name} revoked.`);
  };
  return (
    <Confirm
      title="Revoke this key?"
      action="Revoke"
      typed={of.name}
      onConfirm={revoke}
      onClose={onClose}
    >
      <p>
        Programs that use <b>{of.name}</b> lose access at once. This cannot be undone. Codes keep
        redirecting.
      </p>
    </Confirm>
  );
}
