/** The session: the user and the current workspace. The dashboard loads it first. */
import { signal } from '@preact/signals';
import { type Role, roleAtLeast } from '../../model/workspace.ts';
import { call, setCsrfToken, whenSignedOut } from './http.ts';
import { Problem, problemOf } from './problem.ts';
import { clearCodeNames } from './code-names.ts';
import { clearResources } from './resource.ts';
import { replaceAddress } from './router.ts';
import type { Session } from './wire.ts';
import { pathTo } from '../paths.ts';

export type SessionState =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'unreachable'; readonly problem: Problem }
  | { readonly kind: 'out' }
  | { readonly kind: 'in'; readonly session: Session };

export const sessionState = signal<SessionState>({ kind: 'unknown' });

whenSignedOut(() => {
  if (sessionState.value.kind === 'in') clearAnswers();
  sessionState.value = { kind: 'out' };
});

export async function loadSession(): Promise<void> {
  try {
    begin(await call<Session>('GET', '/session'));
  } catch (error) {
    const problem = problemOf(error);
    sessionState.value =
      problem.status === 401 ? { kind: 'out' } : { kind: 'unreachable', problem };
  }
}

/** @throws Problem */
export async function signIn(email: string, password: string): Promise<void> {
  const session = await call<Session>('POST', '/auth/sign-in', { body: { email, password } });
  clearAnswers();
  begin(session);
}

/** @param next the next user starts at the overview, not on this user's page @throws Problem */
export async function signOut(next = pathTo('signIn')): Promise<void> {
  await call('POST', '/auth/sign-out');
  setCsrfToken(undefined);
  clearAnswers();
  replaceAddress(next);
  sessionState.value = { kind: 'out' };
}

/** @throws Problem */
export async function switchWorkspace(id: string): Promise<void> {
  const session = await call<Session>('POST', `/workspaces/${id}/switch`);
  clearAnswers();
  begin(session);
}

/** Updates the session after a change of the workspace. */
export function noteWorkspace(change: Partial<Session['workspace']>): void {
  const state = sessionState.value;
  if (state.kind !== 'in') return;
  const { session } = state;
  const workspace = { ...session.workspace, ...change };
  sessionState.value = { kind: 'in', session: { ...session, workspace } };
}

/** Updates the session after a change of the profile. */
export function noteUser(change: Partial<Session['user']>): void {
  const state = sessionState.value;
  if (state.kind !== 'in') return;
  const { session } = state;
  sessionState.value = {
    kind: 'in',
    session: { ...session, user: { ...session.user, ...change } },
  };
}

/** For pages inside the frame, which always have a session. */
export function currentSession(): Session {
  const state = sessionState.value;
  if (state.kind !== 'in') throw new Problem(401, { detail: 'You are signed out.' });
  return state.session;
}

/** IANA name of the workspace's time zone. */
export const zoneOfWorkspace = (): string => currentSession().workspace.timezone;

/** Whether the user has at least this role. */
export function may(least: Role): boolean {
  const state = sessionState.value;
  return state.kind === 'in' && roleAtLeast(state.session.workspace.role, least);
}

/** Whether the user may see a cluster. */
export function seesCluster(): boolean {
  const state = sessionState.value;
  return state.kind === 'in' && state.session.cluster === true;
}

function begin(session: Session): void {
  setCsrfToken(session.csrfToken);
  sessionState.value = { kind: 'in', session };
}

/** Clears data that another user or workspace must not see. */
function clearAnswers(): void {
  clearResources();
  clearCodeNames();
}
