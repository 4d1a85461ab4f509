/**
 * The page of an invite link. The token in the address goes into the bodies of two requests, to show and to accept the
 * invite, and does not stay in the history.
 */
import { PlainForm, SubmitButton } from '../../parts/form.tsx';
import { useEffect, useState } from 'preact/hooks';
import { foldEmail } from '../../../model/fold.ts';
import type { Role } from '../../../model/workspace.ts';
import { call } from '../../client/http.ts';
import { currentQuery, navigate, replaceAddress } from '../../client/router.ts';
import { loadSession, sessionState, signOut, switchWorkspace } from '../../client/session.ts';
import { useForm } from '../../client/use-form.ts';
import { useRetry } from '../../client/use-retry.ts';
import { Button, ButtonLink } from '../../parts/button.tsx';
import { TextField } from '../../parts/field.tsx';
import { Notice, ProblemNotice } from '../../parts/notice.tsx';
import { Ready } from '../../parts/page.tsx';
import { pathTo } from '../../paths.ts';
import { SignInHead } from './sign-in-layout.tsx';

interface Invite {
  readonly workspaceName: string;
  readonly inviterName: string;
  readonly email: string;
  readonly role: Role;
}

interface Joined {
  readonly workspaceId: string;
  readonly role: Role;
}

/** Titles of dead links, by the status of the answer. */
const deadLinks: Readonly<Record<number, string>> = {
  404: 'This link does not work',
  409: 'This invite was accepted already',
  410: 'This invite has expired',
};

export function AcceptInvitePage() {
  const [token] = useState(() => currentQuery.value.get('token') ?? '');
  const [joined, setJoined] = useState<Joined>();
  const [invite, setInvite] = useState<Invite>();
  const form = useForm({});
  const load = (): void =>
    form.submit(async () => {
      setInvite(await call<Invite>('POST', '/team/invites/preview', { body: { token } }));
    });
  useEffect(() => {
    document.title = 'Join · Quietzone';
    if (token !== '') load();
  }, []);
  const { problem } = form;
  useRetry(problem, load);
  if (joined !== undefined) return <Welcome joined={joined} />;
  const dead = deadLinks[token === '' ? 404 : (problem?.status ?? 0)];
  const data = sessionState.value.kind === 'unknown' ? undefined : invite;
  return (
    <>
      <SignInHead title="Join the workspace" />
      {dead === undefined ? (
        <Ready of={{ data, problem, isStale: false, reload: async () => load() }}>
          {(shown) => <Join invite={shown} token={token} onJoined={setJoined} />}
        </Ready>
      ) : (
        <>
          <Notice tone="bad" title={dead}>
            <p>Ask for a new invite, or sign in if you have joined.</p>
          </Notice>
          <ButtonLink href={pathTo('overview')}>Go to the dashboard</ButtonLink>
        </>
      )}
    </>
  );
}

interface JoinProps {
  readonly invite: Invite;
  readonly token: string;
  readonly onJoined: (joined: Joined) => void;
}

function Join(props: JoinProps) {
  const { workspaceName, inviterName, role } = props.invite;
  const state = sessionState.value;
  return (
    <div class="stack">
      <p>
        <b dir="auto">{inviterName}</b> invites you to <b dir="auto">{workspaceName}</b> as {role}.
      </p>
      {state.kind === 'in' ? (
        <JoinSignedIn {...props} own={state.session.user.email} />
      ) : (
        <JoinAsNew {...props} />
      )}
    </div>
  );
}

async function accept(body: Readonly<Record<string, string>>): Promise<Joined> {
  const joined = await call<Joined>('POST', '/team/invites/accept', { body });
  replaceAddress(pathTo('acceptInvite'));
  return joined;
}

/** Needs no password. An invite is for one address: a user with another address signs out first. */
function JoinSignedIn({ own, token, invite, onJoined }: JoinProps & { readonly own: string }) {
  const form = useForm({});
  const isOwn = foldEmail(own) === foldEmail(invite.email);
  const here = `${pathTo('acceptInvite')}?${currentQuery.value.toString()}`;
  return (
    <PlainForm
      class="sign-in-form"
      form={form}
      onSubmit={async () => (isOwn ? onJoined(await accept({ token })) : await signOut(here))}
      foot={<SubmitButton form={form} action={isOwn ? 'Join' : 'Sign out'} />}
    >
      <p>
        You are signed in as <b>{own}</b>.
        {!isOwn && ` The invite is for ${invite.email}: sign out, then join with that address.`}
      </p>
    </PlainForm>
  );
}

function JoinAsNew({ token, invite: { email }, onJoined }: JoinProps) {
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
      <TextField
        label="E-mail"
        type="email"
        autocomplete="username"
        value={email}
        onInput={() => undefined}
        isReadOnly
      />
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
