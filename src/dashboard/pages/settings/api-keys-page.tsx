/** API keys: create, rotate, revoke. A secret is shown once. */
import { useState } from 'preact/hooks';
import type { Role } from '../../../model/workspace.ts';
import { now } from '../../client/browser-clock.ts';
import { capitalize } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { invalidate, useResource } from '../../client/resource.ts';
import { currentSession } from '../../client/session.ts';
import { useSubmission } from '../../client/use-form.ts';
import type { Page as PageOf } from '../../client/wire.ts';
import { Button } from '../../parts/button.tsx';
import { CopyLine } from '../../parts/copy.tsx';
import { Confirm, Dialog } from '../../parts/dialog.tsx';
import { SelectField, TextField } from '../../parts/field.tsx';
import { Form } from '../../parts/form.tsx';
import { Badge } from '../../parts/list.tsx';
import { Empty, Notice, ProblemNotice } from '../../parts/notice.tsx';
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
                <p>A key lets a program of yours create codes and read analytics.</p>
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
  const [name, setName] = useState('');
  const [role, setRole] = useState<Role>('editor');
  const [expiresAt, setExpiresAt] = useState('');
  const form = useSubmission();
  const create = async (): Promise<void> => {
    const ends = expiresAt === '' ? {} : { expiresAt: new Date(expiresAt).toISOString() };
    const body = { name: name.trim(), role, ...ends };
    onMade(await call<MadeKey>('POST', '/api-keys', { body }));
  };
  const problem = form.otherProblem(['name', 'role', 'expiresAt']);
  return (
    <Dialog title="New API key" onClose={onClose}>
      <Form class="dialog-form" onSubmit={() => form.submit(create)}>
        <TextField
          label="Name"
          value={name}
          onInput={setName}
          fault={form.faultOf('name')}
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
          value={expiresAt}
          onInput={setExpiresAt}
          fault={form.faultOf('expiresAt')}
        />
        {problem && <ProblemNotice problem={problem} />}
        <footer class="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="accent" isBusy={form.isBusy}>
            Create key
          </Button>
        </footer>
      </Form>
    </Dialog>
  );
}

interface ShowProps {
  readonly made: MadeKey;
  readonly onClose: () => void;
}

function ShowKey({ made: { name, key }, onClose }: ShowProps) {
  return (
    <Dialog title={`Your new key “${name}”`} onClose={onClose}>
      <div class="dialog-form">
        <Notice tone="warn" title="Shown only once">
          <p>Store it safely: anyone who has it can act with its role.</p>
        </Notice>
        <CopyLine text={key} label="the API key" />
        <footer class="dialog-foot">
          <Button tone="accent" onClick={onClose}>
            I have saved it
          </Button>
        </footer>
      </div>
    </Dialog>
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
    say(`${of.name} was revoked.`);
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
        Programs that use <b>{of.name}</b> are refused from their next request. This cannot be
        undone. Codes keep redirecting.
      </p>
    </Confirm>
  );
}
