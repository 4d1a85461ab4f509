/** Invites by e-mail; if the service sends no mail, by a link that is shown once. */
import { DialogForm } from '../../parts/form.tsx';
import { useState } from 'preact/hooks';
import type { Role } from '../../../model/workspace.ts';
import { call } from '../../client/http.ts';
import { invalidate } from '../../client/resource.ts';
import { currentSession } from '../../client/session.ts';
import { useForm } from '../../client/use-form.ts';
import { Dialog, SecretDialog } from '../../parts/dialog.tsx';
import { SelectField, TextField } from '../../parts/field.tsx';
import { Time } from '../../parts/time.tsx';
import { say } from '../../parts/toast.tsx';
import type { Invite } from './invites-card.tsx';
import { rolesUpTo } from './role-options.ts';

type MadeInvite = Invite & { readonly acceptUrl?: string };

export function InviteDialog({ onClose }: { readonly onClose: () => void }) {
  const form = useForm({ email: '' });
  const [role, setRole] = useState<Role>('editor');
  const [made, setMade] = useState<MadeInvite>();
  const invite = async (): Promise<void> => {
    const body = { email: form.texts.email.trim(), role };
    const answer = await call<MadeInvite>('POST', '/team/invites', { body });
    invalidate('/team/invites');
    if (answer.acceptUrl === undefined) {
      say(`Invite sent to ${answer.email}.`);
      onClose();
    } else {
      setMade(answer);
    }
  };
  if (made?.acceptUrl !== undefined) {
    return <InviteLink invite={made} url={made.acceptUrl} onClose={onClose} />;
  }
  return (
    <Dialog title="Invite a teammate" onClose={onClose}>
      <DialogForm form={form} action="Invite" onSubmit={invite} onClose={onClose}>
        <TextField label="E-mail" type="email" {...form.field('email')} hasFocus />
        <SelectField
          label="Role"
          value={role}
          options={rolesUpTo(currentSession().workspace.role)}
          onChange={setRole}
        />
      </DialogForm>
    </Dialog>
  );
}

interface LinkProps {
  readonly invite: Invite;
  readonly url: string;
  readonly onClose: () => void;
}

function InviteLink({ invite: { email, expiresAt }, url, onClose }: LinkProps) {
  return (
    <SecretDialog
      title="Share this invite link"
      secret={url}
      label="the invite link"
      onClose={onClose}
    >
      This service is not set up to send e-mail. Send the link to {email} yourself; it works once.
      It expires <Time iso={expiresAt} />.
    </SecretDialog>
  );
}
