/** The overview of an empty workspace: one field to create the first code. */
import { useState } from 'preact/hooks';
import { call } from '../../client/http.ts';
import { invalidate, storeAnswer } from '../../client/resource.ts';
import { navigate } from '../../client/router.ts';
import { currentSession, may } from '../../client/session.ts';
import { useSubmission } from '../../client/use-form.ts';
import type { QrCode } from '../../client/wire.ts';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { TextField } from '../../parts/field.tsx';
import { Form } from '../../parts/form.tsx';
import { ProblemNotice } from '../../parts/notice.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { say } from '../../parts/toast.tsx';
import { pathTo } from '../../paths.ts';
import { withScheme } from '../codes/target-fields.tsx';

export function Welcome() {
  const [text, setText] = useState('');
  const form = useSubmission();
  const { user } = currentSession();
  const create = async (): Promise<void> => {
    const body = { target: withScheme(text) };
    const code = await call<QrCode>('POST', '/qr-codes', { body });
    storeAnswer(`/qr-codes/${code.id}`, code);
    invalidate('/qr-codes?', '/analytics', '/events');
    say('Your first code is ready. Scan it!');
    navigate(pathTo('code', { id: code.id }));
  };
  const problem = form.otherProblem(['target']);
  return (
    <Page title={`Welcome, ${user.name}`} lead="This workspace has no codes yet.">
      <div class="welcome">
        <Card
          title="Create your first code"
          lead="Where should it lead? You can change the destination at any time, even after printing."
        >
          {may('editor') ? (
            <Form class="form" onSubmit={() => form.submit(create)}>
              <TextField
                label="Web address"
                type="url"
                value={text}
                onInput={setText}
                fault={form.faultOf('target')}
                placeholder="https://example.com/menu"
                hasFocus
              />
              {problem && <ProblemNotice problem={problem} />}
              <div class="form-foot">
                <Button type="submit" tone="accent" isBusy={form.isBusy}>
                  Create code
                </Button>
                <ButtonLink tone="quiet" href={pathTo('importCodes')}>
                  Or import many from a file
                </ButtonLink>
              </div>
            </Form>
          ) : (
            <p>Your role can only view. Ask an editor to create the first code.</p>
          )}
        </Card>
        <Next />
      </div>
    </Page>
  );
}

function Next() {
  return (
    <Card title="What comes next">
      <ol class="welcome-steps">
        <li>
          <span>
            <b>Print it.</b> Download it as SVG, PDF or EPS. The print never has to change again.
          </span>
        </li>
        <li>
          <span>
            <b>Watch it.</b> Every scan shows up a moment later: where, when and on which device.
          </span>
        </li>
        <li>
          <span>
            <b>Connect it.</b> An <a href={pathTo('apiKeys')}>API key</a> for your own programs, a{' '}
            <a href={pathTo('webhooks')}>webhook</a> for what they should know at once.
          </span>
        </li>
      </ol>
    </Card>
  );
}
