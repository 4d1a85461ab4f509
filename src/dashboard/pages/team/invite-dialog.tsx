/** Invites by e-mail; if the service sends no mail, by a link that is shown once. */
import { useState } from 'preact/hooks';
import type { Role } from '../../../model/workspace.ts';
import { call } from '../../client/http.ts';
import { invalidate } from '../../client/resource.ts';
import { currentSession } from '../../client/session.ts';
import { useSubmission } from '../../client/use-form.ts';
import { Button } from '../../parts/button.tsx';
import { CopyLine } from '../../parts/copy.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { SelectField, TextField } from '../../parts/field.tsx';
import { Form } from '../../parts/form.tsx';
import { Notice, ProblemNotice } from '../../parts/notice.tsx';
import { Time } from '../../parts/time.tsx';
import { say } from '../../parts/toast.tsx';
import type { Invite } from './invites-card.tsx';
import { rolesUpTo } from './role-options.ts';

type MadeInvite = Invite & { readonly acceptUrl?: string };

export function InviteDialog({ onClose }: { readonly onClose: () => void }) {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('editor');
  const [made, setMade] = useState<MadeInvite>();
  const form = useSubmission();
  const invite = async (): Promise<void> => {
    const body = { email: email.trim(), role };
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
    return <HandOver invite={made} url={made.acceptUrl} onClose={onClose} />;
  }
  const problem = form.otherProblem(['email', 'role']);
  return (
    <Dialog title="Invite a teammate" onClose={onClose}>
      <Form class="dialog-form" onSubmit={() => form.submit(invite)}>
        <TextField
          label="E-mail"
          type="email"
          value={email}
          onInput={setEmail}
          fault={form.faultOf('email')}
          hasFocus
        />
        <SelectField
          label="Role"
          value={role}
          options={rolesUpTo(currentSession().workspace.role)}
          onChange={setRole}
        />
        {problem && <ProblemNotice problem={problem} />}
        <footer class="dialog-foot">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="accent" isBusy={form.isBusy}>
            Invite
          </Button>
        </footer>
      </Form>
    </Dialog>
  );
}

interface HandOverProps {
  readonly invite: Invite;
  readonly url: string;
  readonly onClose: () => void;
}

function HandOver({ invite: { email, expiresAt }, url, onClose }: HandOverProps) {
  return (
    <Dialog title="Share this invite link" onClose={onClose}>
      <div class="dialog-form">
        <Notice tone="warn" title="Shown only once">
          <p>
            This service is not set up to send e-mail. Send the link to {email} yourself; it works
            once.
          </p>
        </Notice>
        <CopyLine text={url} label="the link of the invite" />
        <p class="soft">
          It expires <Time iso={expiresAt} />.
        </p>
        <footer class="dialog-foot">
          <Button tone="accent" onClick={onClose}>
            Done
          </Button>
        </footer>
      </div>
    </Dialog>
  );
}
