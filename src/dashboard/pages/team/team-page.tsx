/** Who works here, and who is invited. */
import { useState } from 'preact/hooks';
import { type Role, roleAtLeast } from '../../../model/workspace.ts';
import { capitalize } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { invalidate, useResource } from '../../client/resource.ts';
import { currentSession, may } from '../../client/session.ts';
import type { Page as PageOf } from '../../client/wire.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { SelectField } from '../../parts/field.tsx';
import { Badge } from '../../parts/list.tsx';
import { Page, Card, Ready, Skeleton } from '../../parts/page.tsx';
import { Time } from '../../parts/time.tsx';
import { say, sayProblem } from '../../parts/toast.tsx';
import { InviteDialog } from './invite-dialog.tsx';
import { InvitesCard } from './invites-card.tsx';
import { rolesUpTo } from './role-options.ts';

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
      lead="Who works in this workspace"
      actions={
        isAdmin && (
          <Button tone="accent" icon="plus" onClick={() => setInviting(true)}>
            Invite
          </Button>
        )
      }
    >
      <Card class="card-flush" title="Members">
        <Ready of={members} skeleton={<Skeleton height={180} />}>
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
    <div class="table-wrap">
      <table class="table">
        <caption class="unseen">Members</caption>
        <thead>
          <tr>
            <th scope="col">Member</th>
            <th scope="col">Role</th>
            <th scope="col" class="hide-narrow">
              Joined
            </th>
            {isAdmin && (
              <th scope="col">
                <span class="unseen">Deeds</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
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
                        icon="trash"
                        label={`Remove ${member.name}`}
                        onClick={() => onRemove(member)}
                      />
                    )}
                  </td>
                )}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function RoleField({ member, own }: { readonly member: Member; readonly own: Role }) {
  const [isBusy, setBusy] = useState(false);
  const change = async (role: Role): Promise<void> => {
    setBusy(true);
    try {
      await call('PATCH', `/team/members/${member.userId}`, { body: { role } });
      say(`${member.name} is ${role} now.`);
    } catch (error) {
      sayProblem(error);
    }
    invalidate('/team/members');
    setBusy(false);
  };
  return (
    <SelectField
      label={`Role of ${member.name}`}
      isLabelHidden
      value={member.role}
      disabled={isBusy}
      options={rolesUpTo(own).map(({ value }) => ({ value, label: capitalize(value) }))}
      onChange={(role) => void change(role)}
    />
  );
}

interface RemoveProps {
  readonly member: Member;
  readonly onClose: () => void;
}

function RemoveMember({ member: { userId, name, email }, onClose }: RemoveProps) {
  const remove = async (): Promise<void> => {
    await call('DELETE', `/team/members/${userId}`);
    invalidate('/team/members');
    say(`${name} is out.`);
  };
  return (
    <Confirm title={`Remove ${name}?`} action="Remove" onConfirm={remove} onClose={onClose}>
      <p>
        {email} leaves this workspace at once. API keys that {name} made here end with it; codes
        stay and go on redirecting.
      </p>
    </Confirm>
  );
}
