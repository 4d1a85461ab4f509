/** The user's profile, theme and password. */
import { useState } from 'preact/hooks';
import { call } from '../../client/http.ts';
import { currentSession } from '../../client/session.ts';
import { chooseTheme, type Theme, theme } from '../../client/theme.ts';
import { useSubmission } from '../../client/use-form.ts';
import { Button } from '../../parts/button.tsx';
import { ChoiceField, TextField } from '../../parts/field.tsx';
import { Form } from '../../parts/form.tsx';
import { Fact } from '../../parts/list.tsx';
import { ProblemNotice } from '../../parts/notice.tsx';
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
  const [oldPassword, setOld] = useState('');
  const [newPassword, setNew] = useState('');
  const form = useSubmission();
  const change = async (): Promise<void> => {
    await call('POST', '/auth/password', { body: { oldPassword, newPassword } });
    setOld('');
    setNew('');
    say('Password changed. You were signed out everywhere else.');
  };
  const problem = form.otherProblem(['oldPassword', 'newPassword']);
  return (
    <Card title="Password" lead="Changing it signs you out everywhere else. API keys keep working.">
      <Form class="form" onSubmit={() => form.submit(change)}>
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
            value={oldPassword}
            onInput={setOld}
            fault={form.faultOf('oldPassword')}
          />
          <TextField
            label="New password"
            type="password"
            autocomplete="new-password"
            value={newPassword}
            onInput={setNew}
            fault={form.faultOf('newPassword')}
          />
        </div>
        {problem && <ProblemNotice problem={problem} />}
        <div class="form-foot">
          <Button
            type="submit"
            isBusy={form.isBusy}
            disabled={oldPassword === '' || newPassword === ''}
          >
            Change password
          </Button>
        </div>
      </Form>
    </Card>
  );
}
