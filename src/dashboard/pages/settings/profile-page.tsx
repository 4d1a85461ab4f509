/** The user's name and e-mail address, theme, keyboard shortcuts and password. */
import { foldEmail } from '../../../model/fold.ts';
import { call } from '../../client/http.ts';
import { invalidate, useResource } from '../../client/resource.ts';
import { currentSession, noteUser } from '../../client/session.ts';
import { areShortcutsOn, switchShortcuts } from '../../client/shortcuts.ts';
import { chooseTheme, type Theme, theme } from '../../client/theme.ts';
import { useForm } from '../../client/use-form.ts';
import type { Profile } from '../../client/wire.ts';
import { CheckField, ChoiceField, TextField } from '../../parts/field.tsx';
import { Form } from '../../parts/form.tsx';
import { Notice } from '../../parts/notice.tsx';
import { Card, Page, Ready, Skeleton } from '../../parts/page.tsx';
import { say } from '../../parts/toast.tsx';
import { DigestCard } from '../reports/digest-card.tsx';

const themes: ReadonlyArray<{ value: Theme; label: string }> = [
  { value: 'system', label: 'System' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
];

export function ProfilePage() {
  const profile = useResource<Profile>('/profile');
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <Page title="Profile">
      <div class="page-narrow stack">
        <Card title="Account" lead="The same in all your workspaces.">
          <Ready of={profile} skeleton={<Skeleton height={190} />}>
            {(data) => <AccountForm key={data.email} profile={data} />}
          </Ready>
        </Card>
        <Card title="Appearance">
          <div class="stack">
            <ChoiceField
              legend="Theme"
              value={theme.value}
              options={themes}
              onChange={chooseTheme}
            />
            <p class="soft">Times are shown in {zone}.</p>
          </div>
        </Card>
        <Card title="Keyboard">
          <CheckField
            label="Shortcuts"
            hint="Two keys, such as g then o for the overview. Saved in this browser."
            checked={areShortcutsOn.value}
            onChange={switchShortcuts}
          />
        </Card>
        <DigestCard />
        <PasswordCard />
      </div>
    </Page>
  );
}

function AccountForm({ profile }: { readonly profile: Profile }) {
  const form = useForm({ name: profile.name, email: profile.email, currentPassword: '' });
  const name = form.texts.name.trim();
  const email = form.texts.email.trim();
  const isRenamed = name !== profile.name;
  const isMoved = email !== profile.email;
  const { currentPassword } = form.texts;
  const needsPassword = foldEmail(email) !== foldEmail(profile.email);
  const save = async (): Promise<void> => {
    const body = {
      ...(isRenamed ? { name } : {}),
      ...(isMoved ? { email } : {}),
      ...(needsPassword ? { currentPassword } : {}),
    };
    const changed = await call<Profile>('PATCH', '/profile', { body });
    const { name: shown, email: own, pendingEmail } = changed;
    noteUser({ name: shown, email: own });
    form.setTexts({ name: shown, email: own, currentPassword: '' });
    invalidate('/profile');
    invalidate('/team/members');
    say(isMoved && pendingEmail !== null ? `Mail sent to ${pendingEmail}.` : 'Profile saved.');
  };
  return (
    <Form
      form={form}
      action="Save changes"
      disabled={name === '' || !(isRenamed || isMoved) || (needsPassword && currentPassword === '')}
      onSubmit={save}
    >
      <TextField label="Name" autocomplete="name" {...form.field('name')} lengthMax={120} />
      <TextField
        label="E-mail"
        type="email"
        autocomplete="email"
        hint={profile.emailConfirmed ? undefined : <Unconfirmed id={profile.id} />}
        {...form.field('email')}
        lengthMax={254}
      />
      {needsPassword && (
        <TextField
          label="Your password"
          type="password"
          autocomplete="current-password"
          hint="Needed to change your sign-in address"
          {...form.field('currentPassword')}
          lengthMax={256}
        />
      )}
      {profile.pendingEmail !== null && (
        <Notice title={`Confirm ${profile.pendingEmail}`}>
          <p>Open the link in the mail sent there. Until then, your old address stays.</p>
        </Notice>
      )}
    </Form>
  );
}

function Unconfirmed({ id }: { readonly id: string }) {
  return (
    <>
      Not confirmed. The operator can confirm it with <code>quietzone users confirm {id}</code>
    </>
  );
}

function PasswordCard() {
  const form = useForm({ oldPassword: '', newPassword: '' });
  const { oldPassword, newPassword } = form.texts;
  const change = async (): Promise<void> => {
    await call('POST', '/auth/password', { body: { oldPassword, newPassword } });
    form.setTexts({ oldPassword: '', newPassword: '' });
    say('Password changed. You were signed out everywhere else.');
  };
  return (
    <Card title="Password" lead="Changing it signs you out everywhere else. API keys keep working.">
      <Form
        form={form}
        action="Change password"
        tone="plain"
        disabled={oldPassword === '' || newPassword === ''}
        onSubmit={change}
      >
        <input
          type="text"
          autocomplete="username"
          value={currentSession().user.email}
          hidden
          readonly
        />
        <div class="form-row">
          <TextField
            label="Current password"
            type="password"
            autocomplete="current-password"
            {...form.field('oldPassword')}
          />
          <TextField
            label="New password"
            type="password"
            autocomplete="new-password"
            {...form.field('newPassword')}
          />
        </div>
      </Form>
    </Card>
  );
}
