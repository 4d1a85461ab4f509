/**
 * The page of the link in the mail to a new address. The token in the address goes into one request and does not stay
 * in the history. Mail programs open links too, so a person has to press the button.
 */
import { useState } from 'preact/hooks';
import { call } from '../../client/http.ts';
import { invalidate } from '../../client/resource.ts';
import { currentQuery, replaceAddress } from '../../client/router.ts';
import { currentSession, noteUser } from '../../client/session.ts';
import { useForm } from '../../client/use-form.ts';
import type { Profile } from '../../client/wire.ts';
import { Form } from '../../parts/form.tsx';
import { Notice } from '../../parts/notice.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { say } from '../../parts/toast.tsx';
import { pathTo } from '../../paths.ts';

export function ConfirmEmailPage() {
  const [token] = useState(() => currentQuery.value.get('token') ?? '');
  const form = useForm({});
  const { user } = currentSession();
  const confirm = async (): Promise<void> => {
    const body = { token };
    const { name, email } = await call<Profile>('POST', '/profile/confirm-email', { body });
    noteUser({ name, email });
    invalidate('/profile');
    invalidate('/team/members');
    replaceAddress(pathTo('profile'));
    say(`From now on, sign in with ${email}.`);
  };
  return (
    <Page title="Confirm your new address">
      <div class="page-narrow">
        {token === '' ? (
          <Notice tone="warn" title="This link is incomplete">
            <p>Please open it from the mail again.</p>
          </Notice>
        ) : (
          <Card>
            <Form form={form} action="Confirm the address" onSubmit={confirm}>
              <p>
                You are signed in as <b>{user.email}</b>. Confirm to sign in with the address that
                received the mail.
              </p>
            </Form>
          </Card>
        )}
      </div>
    </Page>
  );
}
