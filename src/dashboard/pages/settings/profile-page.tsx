/** The user's profile, theme and password. */
import { call } from '../../client/http.ts';
import { currentSession } from '../../client/session.ts';
import { chooseTheme, type Theme, theme } from '../../client/theme.ts';
import { useForm } from '../../client/use-form.ts';
import { ChoiceField, TextField } from '../../parts/field.tsx';
import { Form } from '../../parts/form.tsx';
import { Fact } from '../../parts/list.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { say } from '../../parts/toast.tsx';

const themes: ReadonlyArray<{ value: Theme; label: string }> = [
  { value: 'system', label: 'System' },
  { value: 'light', label: 'Light' },
  { value: 'dark', label: 'Dark' },
];

export function ProfilePage() {
  const { user } = currentSession();
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <Page title="Profile">
      <div class="page-narrow stack">
        <Card title="Account">
          <dl class="facts">
            <Fact label="Name">{user.name}</Fact>
            <Fact label="E-mail">{user.email}</Fact>
            <Fact label="Time zone">{zone}</Fact>
          </dl>
        </Card>
        <Card title="Appearance">
          <ChoiceField legend="Theme" value={theme.value} options={themes} onChange={chooseTheme} />
        </Card>
        <PasswordCard />
      </div>
    </Page>
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
