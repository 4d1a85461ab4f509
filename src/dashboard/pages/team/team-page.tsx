/** Members and invites. */
import { useState } from 'preact/hooks';
import { type Role, roleAtLeast } from '../../../model/workspace.ts';
import { capitalize } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { invalidate, useResource } from '../../client/resource.ts';
import { currentSession, loadSession, may } from '../../client/session.ts';
import type { Page as PageOf } from '../../client/wire.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { SelectField } from '../../parts/field.tsx';
import { Badge } from '../../parts/list.tsx';
import { Page, Card, Ready, Skeleton } from '../../parts/page.tsx';
import { actionsColumn, Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { say } from '../../parts/toast.tsx';
import { InviteDialog } from './invite-dialog.tsx';
import { InvitesCard } from './invites-card.tsx';
import { rolesUpTo, roleLabels } from './role-options.ts';

export interface Member {
  readonly userId: string;
  readonly email: string;
  readonly name: string;
  readonly role: Role;
  readonly joinedAt: string;
}

export function TeamPage() {
  const members = useResource<PageOf<Member>>('/team/members?limit=100');
  const [isInviting, setInviting] = useState(false);
  const [leaving, setLeaving] = useState<Member>();
  const isAdmin = may('admin');
  return (
    <Page
      title="Team"
      lead="People with access to this workspace"
      actions={
        isAdmin && (
          <Button tone="accent" icon="plus" onClick={() => setInviting(true)}>
            Invite
          </Button>
        )
      }
    >
      <Card class="card-flush" title="Members">
        <Ready of={members} skeleton={<Skeleton rows={3} />}>
          {({ data }) => <MemberTable members={data} onRemove={setLeaving} />}
        </Ready>
      </Card>
      {isAdmin && <InvitesCard />}
      {isInviting && <InviteDialog onClose={() => setInviting(false)} />}
      {leaving !== undefined && (
        <RemoveMember member={leaving} onClose={() => setLeaving(undefined)} />
      )}
    </Page>
  );
}

interface TableProps {
  readonly members: readonly Member[];
  readonly onRemove: (member: Member) => void;
}

function MemberTable({ members, onRemove }: TableProps) {
  const { user, workspace } = currentSession();
  const isAdmin = may('admin');
  return (
    <Table
      caption="Members"
      columns={['Member', 'Role', { wide: 'Joined' }, ...(isAdmin ? [actionsColumn] : [])]}
    >
      {members.map((member) => {
        const isChangeable = isAdmin && roleAtLeast(workspace.role, member.role);
        return (
          <tr key={member.userId}>
            <td>
              <span class="row-title">
                {member.name} {member.userId === user.id && <Badge>You</Badge>}
              </span>
              <span class="row-sub">{member.email}</span>
            </td>
            <td>
              {isChangeable ? (
                <RoleField member={member} own={workspace.role} />
              ) : (
                capitalize(member.role)
              )}
            </td>
            <td class="hide-narrow soft">
              <Time iso={member.joinedAt} />
            </td>
            {isAdmin && (
              <td class="tight">
                {isChangeable && (
                  <Button
                    tone="quiet"
                    icon={member.userId === user.id ? 'leave' : 'trash'}
                    label={
                      member.userId === user.id ? 'Leave this workspace' : `Remove ${member.name}`
                    }
                    onClick={() => onRemove(member)}
                  />
                )}
              </td>
            )}
          </tr>
        );
      })}
    </Table>
  );
}

/** Asks for confirmation: arrow keys step through a select, and each step would take effect at once. */
function RoleField({ member, own }: { readonly member: Member; readonly own: Role }) {
  const [wanted, setWanted] = useState<Role>();
  const isMe = member.userId === currentSession().user.id;
  const change = async (role: Role): Promise<void> => {
    await call('PATCH', `/team/members/${member.userId}`, { body: { role } });
    say(`${member.name} is now ${role}.`);
    invalidate('/team/members');
    invalidate('/team/invites');
    if (isMe) await loadSession();
  };
  return (
    <>
      <SelectField
        label={`Role of ${member.name}`}
        isLabelHidden
        value={wanted ?? member.role}
        options={rolesUpTo(own).map(({ value }) => ({ value, label: capitalize(value) }))}
        onChange={(role) => setWanted(role === member.role ? undefined : role)}
      />
      {wanted !== undefined && (
        <Confirm
          title={`Make ${isMe ? 'yourself' : member.name} ${wanted}?`}
          action="Change role"
          tone={roleAtLeast(wanted, member.role) ? 'accent' : 'danger'}
          onConfirm={() => change(wanted)}
          onClose={() => setWanted(undefined)}
        >
          <p>
            From {member.role} to <b>{wanted}</b>: {roleLabels[wanted]}. It takes effect at once.
          </p>
          {isMe && <p>You cannot give yourself the old role back.</p>}
        </Confirm>
      )}
    </>
  );
}

interface RemoveProps {
  readonly member: Member;
  readonly onClose: () => void;
}

function RemoveMember({ member: { userId, name, email }, onClose }: RemoveProps) {
  const { user, workspace } = currentSession();
  const isMe = userId === user.id;
  const remove = async (): Promise<void> => {
    await call('DELETE', `/team/members/${userId}`);
    invalidate('/team/members');
    invalidate('/team/invites');
    say(isMe ? `You have left ${workspace.name}.` : `${name} was removed.`);
    if (isMe) await loadSession();
  };
  if (isMe) {
    return (
      <Confirm
        title={`Leave ${workspace.name}?`}
        action="Leave"
        onConfirm={remove}
        onClose={onClose}
      >
        <p>
          You lose access at once; API keys that you created here and invites that you sent stop
          working. Codes stay and keep redirecting.
        </p>
      </Confirm>
    );
  }
  return (
    <Confirm title={`Remove ${name}?`} action="Remove" onConfirm={remove} onClose={onClose}>
      <p>
        {email} loses access at once; API keys that {name} created here and invites that {name} sent
        stop working. Codes stay and keep redirecting.
      </p>
    </Confirm>
  );
}
