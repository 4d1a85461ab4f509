/** /profile: the signed-in person's own name and e-mail address. The rules are in product/workspaces/profile/profiles.ts. */
import { z } from 'zod';
import { Failure, invalid } from '../../model/failure.ts';
import { foldEmail } from '../../model/fold.ts';
import type { UserRecord } from '../../model/workspace.ts';
import type { WorkspaceServices } from '../../product/workspaces/services.ts';
import { isProven } from '../../product/workspaces/users.ts';
import { getRoute } from '../kernel/resource.ts';
import { type Call, createRoute, jsonResult, type Route } from '../kernel/route.ts';
import type { ApiServices } from '../services.ts';
import { email, givenPassword, name, shownEmail, shownName, userId } from './people.ts';

/** The dashboard's page that the link of a mail opens. */
const confirmPath = '/settings/confirm-email';

const profile = z
  .object({
    id: userId.meta({ description: 'Your id' }),
    name: shownName.meta({ description: 'How others see you' }),
    email: shownEmail.meta({ description: 'What you sign in with' }),
    emailConfirmed: z.boolean().meta({
      description: 'Whether the address is yours: by a mailed link, or by the operator’s word',
      example: true,
    }),
    pendingEmail: shownEmail.nullable().meta({
      description: 'A new address that waits for its mailed link to be opened; null without one',
    }),
  })
  .meta({ id: 'Profile' });
const profileBody = z
  .strictObject({
    name: name.optional().meta({ description: 'How others see you' }),
    email: email.optional().meta({ description: 'What you sign in with' }),
    currentPassword: givenPassword
      .optional()
      .meta({ description: 'Needed for another address, not for another spelling of the same' }),
  })
  .meta({ id: 'ProfileChange' });
const confirmBody = z
  .strictObject({
    token: z
      .string()
      .min(1)
      .max(128)
      .meta({ description: 'Of the link in the mail', example: 'k5q3w9' }),
  })
  .meta({ id: 'EmailConfirm' });

type Change = z.output<typeof profileBody>;

const tag = 'Sessions';

export interface ProfileOptions {
  readonly workspaces: WorkspaceServices;
  readonly mail: ApiServices['mail'];
  /** The dashboard's address. */
  readonly publicUrl: string;
}

export function profileRoutes(options: ProfileOptions): Route[] {
  const { users, profiles } = options.workspaces;
  const view = (user: UserRecord | undefined) => {
    if (user === undefined) throw new Error('Cannot show a profile: the user is missing');
    return {
      id: user.id,
      name: user.name,
      email: user.email,
      emailConfirmed: isProven(user),
      pendingEmail: profiles.pendingEmail(user.id) ?? null,
    };
  };
  const getProfile = getRoute({
    path: '/profile',
    operationId: 'getProfile',
    access: 'person',
    tag,
    summary: 'Get your profile',
    description: 'Your name and e-mail address.',
    schema: profile,
    what: 'Your profile',
    read: ({ actor }) => view(users.find(actor.userId)),
  });
  const updateProfile = createRoute({
    method: 'PATCH',
    path: '/profile',
    operationId: 'updateProfile',
    access: 'person',
    tag,
    summary: 'Change your name or e-mail address',
    description:
      'Another address needs your password. Where mail is sent, it is `pendingEmail` until you open the link ' +
      'that goes to it, signed in; elsewhere it holds at once, unconfirmed.',
    body: profileBody,
    answer: { status: 200, schema: profile, what: 'Your profile' },
    failures: ['conflict', 'storage_full'],
    handle: async (call) => {
      await changeEmail(options, call);
      const { actor, body } = call;
      if (body.name !== undefined) await profiles.rename(actor.userId, body.name);
      return jsonResult(200, view(users.find(actor.userId)));
    },
  });
  const confirmEmail = createRoute({
    method: 'POST',
    path: '/profile/confirm-email',
    operationId: 'confirmEmail',
    access: 'person',
    tag,
    summary: 'Confirm your new e-mail address',
    description: 'By the token of the link that was mailed to it, once, within a day.',
    body: confirmBody,
    answer: { status: 200, schema: profile, what: 'Your profile, with the new address' },
    failures: ['not_found', 'gone', 'conflict', 'idempotency_conflict', 'storage_full'],
    handle: async ({ actor, body: { token } }) => {
      const before = users.find(actor.userId);
      const changed = await profiles.confirmAddress(actor.userId, token);
      tellOwner(options, before, 'e-mail address');
      return jsonResult(200, view(changed));
    },
  });
  return [getProfile, updateProfile, confirmEmail];
}

/** By mail, to the address that they had; an unproven one may be a stranger's. */
export function tellOwner(
  { mail, publicUrl }: Pick<ProfileOptions, 'mail' | 'publicUrl'>,
  before: UserRecord | undefined,
  what: 'password' | 'e-mail address',
): void {
  if (before === undefined || !isProven(before)) return;
  mail?.accountChanged(before.email, what, `${publicUrl}/settings/profile`);
}

async function changeEmail(
  { workspaces, mail, publicUrl }: ProfileOptions,
  { actor, body, clientAddress }: Call<unknown, Change>,
): Promise<void> {
  const { profiles, users } = workspaces;
  const user = users.find(actor.userId);
  if (body.email === undefined || user === undefined || body.email === user.email) return;
  if (foldEmail(body.email) === foldEmail(user.email)) {
    await profiles.respell(user.id, body.email);
    return;
  }
  const { currentPassword } = body;
  if (currentPassword === undefined) {
    throw invalid('currentPassword', 'required', 'Needed for another e-mail address');
  }
  const verified = await verifyPassword(workspaces, user.id, currentPassword, clientAddress);
  if (mail === undefined) {
    workspaces.accounts.countGuess(body.email, clientAddress);
    await profiles.takeAddress(verified, body.email, currentPassword);
    return;
  }
  const { email: to, token, expiresAtMs } = await profiles.askForAddress(user.id, body.email);
  const confirmUrl = `${publicUrl}${confirmPath}?token=${token}`;
  if (mail.confirmAddress({ to, name: body.name ?? user.name, confirmUrl, expiresAtMs })) return;
  throw new Failure('overloaded', 'Too many mails are waiting', { retryAfterSeconds: 60 });
}

/** A wrong one is a fault of the body: the session is as good as before. */
async function verifyPassword(
  { accounts }: WorkspaceServices,
  userIdOfActor: string,
  password: string,
  clientAddress: string,
): Promise<UserRecord> {
  try {
    return await accounts.verifyOwn(userIdOfActor, password, clientAddress);
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'unauthorized') throw error;
    throw invalid('currentPassword', 'wrong_password', error.message);
  }
}
