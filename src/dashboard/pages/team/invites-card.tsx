/** The list of invites. */
import { useState } from 'preact/hooks';
import type { Role } from '../../../model/workspace.ts';
import { capitalize } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { invalidate, useResource } from '../../client/resource.ts';
import type { Page as PageOf } from '../../client/wire.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { Badge, type BadgeTone } from '../../parts/list.tsx';
import { Empty } from '../../parts/notice.tsx';
import { Card, Ready, Skeleton } from '../../parts/page.tsx';
import { actionsColumn, Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { say } from '../../parts/toast.tsx';

export interface Invite {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly status: 'pending' | 'accepted' | 'expired';
  readonly createdAt: string;
  readonly expiresAt: string;
}

const tones: Readonly<Record<Invite['status'], BadgeTone>> = {
  pending: 'accent',
  accepted: 'good',
  expired: 'plain',
};

export function InvitesCard() {
  const invites = useResource<PageOf<Invite>>('/team/invites?limit=100');
  const [withdrawn, setWithdrawn] = useState<Invite>();
  return (
    <Card class="card-flush" title="Invites">
      <Ready of={invites} skeleton={<Skeleton rows={1} />}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon="person" title="No invites" />
          ) : (
            <InviteTable invites={data} onWithdraw={setWithdrawn} />
          )
        }
      </Ready>
      {withdrawn !== undefined && (
        <Confirm
          title="Withdraw this invite?"
          action="Withdraw"
          onClose={() => setWithdrawn(undefined)}
          onConfirm={async () => {
            await call('DELETE', `/team/invites/${withdrawn.id}`);
            invalidate('/team/invites');
            say('Invite withdrawn.');
          }}
        >
          <p>The link sent to {withdrawn.email} stops working at once.</p>
        </Confirm>
      )}
    </Card>
  );
}

interface TableProps {
  readonly invites: readonly Invite[];
  readonly onWithdraw: (invite: Invite) => void;
}

function InviteTable({ invites, onWithdraw }: TableProps) {
  return (
    <Table caption="Invites" columns={['Invited', 'Status', { wide: 'Expires' }, actionsColumn]}>
      {invites.map((invite) => (
        <tr key={invite.id}>
          <td>
            <span class="row-title">{invite.email}</span>
            <span class="row-sub">{capitalize(invite.role)}</span>
          </td>
          <td>
            <Badge tone={tones[invite.status]}>{capitalize(invite.status)}</Badge>
          </td>
          <td class="hide-narrow soft">
            <Time iso={invite.expiresAt} />
          </td>
          <td class="tight">
            {invite.status === 'pending' && (
              <Button
                tone="quiet"
                icon="trash"
                label={`Withdraw the invite to ${invite.email}`}
                onClick={() => onWithdraw(invite)}
              />
            )}
          </td>
        </tr>
      ))}
    </Table>
  );
}
