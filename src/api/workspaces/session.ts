/**
 * /auth and /session: signing in and out, changing the password, who one is. Sessions are for the
 * dashboard; programs use API keys.
 */
import { z } from 'zod';
import { isLocalUrl } from '../../model/address.ts';
import type { Actor } from '../../model/workspace.ts';
import { passwordLengthMax, passwordLengthMin } from '../../product/workspaces/passwords.ts';
import { emailLengthMax } from '../../product/workspaces/users.ts';
import type { WorkspaceServices } from '../../product/workspaces/services.ts';
import type { Session } from '../../product/workspaces/sessions.ts';
import { emptyBody } from '../kernel/fields.ts';
import { getRoute } from '../kernel/resource.ts';
import { createRoute, jsonResult, type Route } from '../kernel/route.ts';
import type { SessionCookie } from './cookie.ts';
import { type ProfileOptions, tellOwner } from './profile.ts';
import {
  givenPassword,
  shownEmail,
  shownName,
  userId,
  viewWorkspace,
  workspace,
} from './people.ts';

const signInBody = z
  .strictObject({
    email: z.string().min(1).max(emailLengthMax).meta({
      description: 'Your e-mail address',
      example: 'jane@example.com',
    }),
    password: givenPassword.meta({ description: 'Your password' }),
  })
  .meta({ id: 'SignIn' });
const newPassword = z
  .string()
  .min(passwordLengthMin)
  .max(passwordLengthMax)
  .meta({
    override: { format: 'password' },
    description: 'None of the commonest, nor made of your name or address; kept as a scrypt hash',
    example: 'another horse battery staple',
  });
const passwordBody = z
  .strictObject({
    oldPassword: givenPassword.meta({ description: 'The one you have' }),
    newPassword,
  })
  .meta({ id: 'PasswordChange' });
const user = z
  .object({ id: userId, email: shownEmail, name: shownName })
  .meta({ id: 'User', description: 'A person' });
export const sessionSchema = z
  .object({
    user: user.meta({ description: 'Who acts' }),
    workspace: workspace.meta({ description: 'Where they act' }),
    shortLinks: z
      .object({
        base: z.string().meta({
          description: 'What short links begin with',
          example: 'https://go.example.com',
        }),
        local: z.boolean().meta({
          description: 'That is the machine itself, as `localhost` is: no phone can open the codes',
          example: false,
        }),
      })
      .meta({ description: 'Of this installation' }),
    cluster: z.boolean().meta({
      description: 'Whether you may see a cluster: `GET /cluster`',
      example: false,
    }),
    geoDate: z.string().nullable().meta({
      description: 'Date of the geo data',
      example: '2026-06-05',
    }),
    csrfToken: z.string().optional().meta({
      example: 'Zk3q8m4hd2v7c5x9ab',
      description: 'Of a signed-in person: sent as X-CSRF-Token with each change',
    }),
  })
  .meta({ id: 'Session' });
const done = z
  .object({ done: z.literal(true).meta({ description: 'It is done' }) })
  .meta({ id: 'Done' });

const tag = 'Sessions';

export function sessionRoutes(
  options: ProfileOptions,
  cookie: SessionCookie,
  view: SessionView,
): Route[] {
  const { workspaces } = options;
  const { accounts, sessions, users } = workspaces;
  const signOut = createRoute({
    method: 'POST',
    path: '/auth/sign-out',
    operationId: 'signOut',
    access: 'person',
    tag,
    summary: 'Sign out',
    description: 'Ends this session at once.',
    body: emptyBody,
    isRepeatable: true,
    answer: {
      status: 200,
      schema: done,
      what: 'Signed out; Set-Cookie removes the session',
      headers: ['Set-Cookie'],
    },
    failures: ['storage_full'],
    handle: async ({ session }) => {
      await sessions.end(requireSession(session).hash);
      return jsonResult(200, { done: true }, { 'Set-Cookie': cookie.end() });
    },
  });
  const changePassword = createRoute({
    method: 'POST',
    path: '/auth/password',
    operationId: 'changePassword',
    access: 'person',
    tag,
    summary: 'Change your password',
    description: 'Needs the old one. Your other sessions end; API keys stay valid.',
    body: passwordBody,
    answer: { status: 200, schema: done, what: 'Changed' },
    failures: ['conflict', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor, session, body, clientAddress }) => {
      const passwords = { old: body.oldPassword, new: body.newPassword };
      const at = { address: clientAddress, sessionHash: requireSession(session).hash };
      await accounts.changePassword(actor.userId, passwords, at);
      tellOwner(options, users.find(actor.userId), 'password');
      return jsonResult(200, { done: true });
    },
  });
  const getSession = getRoute({
    path: '/session',
    operationId: 'getSession',
    access: 'viewer',
    tag,
    summary: 'Who am I',
    description: 'The user and the workspace that this key or session acts for, and as what.',
    schema: sessionSchema,
    what: 'User, workspace and role',
    read: ({ actor, session }) => view(actor, session?.csrfToken),
  });
  return [signInRoute(workspaces, cookie, view), signOut, changePassword, getSession];
}

function signInRoute(
  { accounts }: WorkspaceServices,
  cookie: SessionCookie,
  view: SessionView,
): Route {
  return createRoute({
    method: 'POST',
    path: '/auth/sign-in',
    operationId: 'signIn',
    access: 'public',
    tag,
    summary: 'Sign in',
    description:
      'Begins a session in a cookie. Failures make the next attempt wait, per account and address. ' +
      'An unknown e-mail gets the same answer as a wrong password.',
    body: signInBody,
    isRepeatable: true,
    answer: {
      status: 200,
      schema: sessionSchema,
      what: 'Who you are; Set-Cookie has the session',
      headers: ['Set-Cookie'],
    },
    failures: ['storage_full'],
    handle: async ({ body: { email, password }, clientAddress }) => {
      const made = await accounts.signIn(email, password, clientAddress);
      const answer = view(made.actor, made.csrfToken);
      return jsonResult(200, answer, { 'Set-Cookie': cookie.begin(made.secret) });
    },
  });
}

export type SessionView = (
  actor: Actor,
  csrfToken: string | undefined,
) => z.input<typeof sessionSchema>;

/** @param base what short links begin with */
export function createSessionView(
  services: WorkspaceServices,
  base: string,
  installation: {
    /** Whether there is a cluster that they may see. */
    readonly seesCluster: (actor: Actor) => boolean;
    readonly geoDate: string | undefined;
  },
): SessionView {
  const { users, workspaces } = services;
  const shortLinks = { base, local: isLocalUrl(base) };
  return (actor, csrfToken) => {
    const user = users.find(actor.userId);
    const workspace = workspaces.find(actor.workspaceNo);
    if (user === undefined || workspace === undefined) {
      throw new Error('Cannot show a session: its user or workspace is missing');
    }
    return {
      user: { id: user.id, email: user.email, name: user.name },
      workspace: viewWorkspace(workspace, actor.role),
      shortLinks,
      cluster: installation.seesCluster(actor),
      geoDate: installation.geoDate ?? null,
      csrfToken,
    };
  };
}

/** The session of a route for signed-in people. The guard refuses requests without one. */
export function requireSession(session: Session | undefined): Session {
  if (session === undefined)
    throw new Error('Cannot act for a session: the request has no session');
  return session;
}
