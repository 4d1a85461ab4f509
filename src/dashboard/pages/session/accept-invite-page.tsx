/**
 * The page of an invite's link. The token in the address goes into one request and does not stay in the
 * history.
 */
import { PlainForm, SubmitButton } from '../../parts/form.tsx';
import { useEffect, useState } from 'preact/hooks';
import type { Role } from '../../../model/workspace.ts';
import { call } from '../../client/http.ts';
import { currentQuery, navigate, replaceAddress } from '../../client/router.ts';
import { loadSession, sessionState, switchWorkspace } from '../../client/session.ts';
import { useForm } from '../../client/use-form.ts';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { TextField } from '../../parts/field.tsx';
import { Notice, ProblemNotice } from '../../parts/notice.tsx';
import { pathTo } from '../../paths.ts';
import { SignInHead } from './sign-in-layout.tsx';

interface Joined {
  readonly workspaceId: string;
  readonly role: Role;
}

export function AcceptInvitePage() {
  const [token] = useState(() => currentQuery.value.get('token') ?? '');
  const [joined, setJoined] = useState<Joined>();
  useEffect(() => {
    document.title = 'Join · Quietzone';
  }, []);
  const state = sessionState.value;
  if (joined !== undefined) return <Welcome joined={joined} />;
  if (token === '') {
    return (
      <>
        <SignInHead title="Join the workspace" />
        <Notice tone="warn" title="This link is incomplete">
          <p>Please open it from your invitation again.</p>
        </Notice>
      </>
    );
  }
  return (
    <>
      <SignInHead title="Join the workspace" />
      {state.kind === 'in' ? (
        <JoinAsMe token={token} email={state.session.user.email} onJoined={setJoined} />
      ) : (
        <JoinAsNew token={token} onJoined={setJoined} />
      )}
    </>
  );
}

interface JoinProps {
  readonly token: string;
  readonly onJoined: (joined: Joined) => void;
}

async function accept(body: Readonly<Record<string, string>>): Promise<Joined> {
  const joined = await call<Joined>('POST', '/team/invites/accept', { body });
  replaceAddress(pathTo('acceptInvite'));
  return joined;
}

/** Signed-in users need no password; to use another account, they sign out first. */
function JoinAsMe({ token, email, onJoined }: JoinProps & { readonly email: string }) {
  const form = useForm({});
  return (
    <PlainForm
      class="sign-in-form"
      form={form}
      onSubmit={async () => onJoined(await accept({ token }))}
      foot={<SubmitButton form={form} action="Join" />}
    >
      <p>
        You are signed in as <b>{email}</b>.
      </p>
    </PlainForm>
  );
}

function JoinAsNew({ token, onJoined }: JoinProps) {
  const form = useForm({ name: '', password: '' });
  const name = form.texts.name.trim();
  const { password } = form.texts;
  const join = async (): Promise<void> => {
    onJoined(await accept({ token, password, name }));
  };
  return (
    <PlainForm
      class="sign-in-form"
      form={form}
      onSubmit={join}
      foot={<SubmitButton form={form} action="Join" disabled={name === '' || password === ''} />}
    >
      <p class="soft">
        Choose a name and a password. If you already have an account here, enter its password, or
        sign in first and open this link again.
      </p>
      <TextField label="Name" autocomplete="name" {...form.field('name')} lengthMax={120} />
      <TextField
        label="Password"
        type="password"
        autocomplete="new-password"
        {...form.field('password')}
        lengthMax={256}
      />
    </PlainForm>
  );
}

function Welcome({ joined }: { readonly joined: Joined }) {
  const form = useForm({});
  const isIn = sessionState.value.kind === 'in';
  const enter = async (): Promise<void> => {
    await switchWorkspace(joined.workspaceId);
    await loadSession();
    navigate(pathTo('overview'));
  };
  return (
    <>
      <SignInHead title="Welcome" />
      <Notice tone="good" title={`You have joined as ${joined.role}`}>
        {!isIn && <p>You can sign in with your e-mail address and this password.</p>}
      </Notice>
      {form.problem && <ProblemNotice problem={form.problem} />}
      {isIn ? (
        <Button tone="accent" isBusy={form.isBusy} onClick={() => form.submit(enter)}>
          Go there
        </Button>
      ) : (
        <ButtonLink tone="accent" href={pathTo('overview')}>
          Sign in
        </ButtonLink>
      )}
    </>
  );
}
