/** The overview of an empty workspace: one field to create the first code. */
import { withScheme } from '../../client/format.ts';
import { call } from '../../client/http.ts';
import { invalidate, storeAnswer } from '../../client/resource.ts';
import { navigate } from '../../client/router.ts';
import { currentSession, may } from '../../client/session.ts';
import { useForm } from '../../client/use-form.ts';
import type { QrCode } from '../../client/wire.ts';
import { ButtonLink } from '../../parts/button.tsx';
import { TextField } from '../../parts/field.tsx';
import { Form } from '../../parts/form.tsx';
import { Card, Page } from '../../parts/page.tsx';
import { say } from '../../parts/toast.tsx';
import { pathTo } from '../../paths.ts';

export function Welcome() {
  const form = useForm({ target: '' });
  const { user, shortLinks } = currentSession();
  const create = async (): Promise<void> => {
    const body = { target: withScheme(form.texts.target) };
    const code = await call<QrCode>('POST', '/qr-codes', { body });
    storeAnswer(`/qr-codes/${code.id}`, code);
    invalidate('/qr-codes?', '/analytics', '/events');
    say(
      shortLinks.local
        ? 'Your first code is ready. Before you print it, see the notice above.'
        : 'Your first code is ready. Scan it!',
    );
    navigate(pathTo('code', { id: code.id }));
  };
  return (
    <Page title={`Welcome, ${user.name}`} lead="This workspace has no codes yet.">
      <div class="welcome">
        <Card
          title="Create your first code"
          lead="Where should it lead? You can change the destination at any time, even after printing."
        >
          {may('editor') ? (
            <Form
              form={form}
              action="Create code"
              onSubmit={create}
              more={
                <ButtonLink tone="quiet" href={pathTo('importCodes')}>
                  Or import many from a file
                </ButtonLink>
              }
            >
              <TextField
                label="Web address"
                type="url"
                {...form.field('target')}
                placeholder="https://example.com/menu"
                hasFocus
              />
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
            <b>Print it.</b> Download it as SVG, PDF or EPS. You never have to print it again.
          </span>
        </li>
        <li>
          <span>
            <b>Watch it.</b> See where, when and on which device people scan it.
          </span>
        </li>
        <li>
          <span>
            <b>Connect it.</b> Use an <a href={pathTo('apiKeys')}>API key</a> in your own programs,
            and a <a href={pathTo('webhooks')}>webhook</a> to get notified at once.
          </span>
        </li>
      </ol>
    </Card>
  );
}
