/**
 * The tables of sessions and invites, in the management environment: an invite, the membership it
 * becomes, and their events commit together.
 *
 *   sessions             SHA-256 of the session's secret, base64url           -> SessionRecord
 *   user_sessions        ["usr_…", the same hash]                             -> 1
 *   session_uses         the same hash                                        -> last seen, ms
 *   session_expiry       [expiresAtMs, the same hash]                         -> 1, for the sweep
 *   invites              "inv_…"                                              -> InviteRecord
 *   workspace_invites    [workspaceNo, "inv_…"]                               -> 1
 *   invite_tokens        SHA-256 of the token, base64url                      -> "inv_…"
 *   pending_invites      [workspaceNo, folded e-mail]                         -> "inv_…", at most one
 *   invite_expiry        [removeAtMs, "inv_…"]                                -> 1, for the sweep
 */
import type { InviteRecord, SessionRecord } from '../../model/workspace.ts';
import type { StoreEnvironment, Table } from '../environment.ts';

export interface PeopleTables {
  readonly sessions: Table<string, SessionRecord>;
  readonly userSessions: Table<[string, string], number>;
  readonly sessionUses: Table<string, number>;
  readonly sessionExpiry: Table<[number, string], number>;
  readonly invites: Table<string, InviteRecord>;
  readonly workspaceInvites: Table<[number, string], number>;
  readonly inviteTokens: Table<string, string>;
  readonly pendingInvites: Table<[number, string], string>;
  readonly inviteExpiry: Table<[number, string], number>;
}

export function openPeopleTables(environment: StoreEnvironment): PeopleTables {
  return {
    sessions: environment.table('sessions'),
    userSessions: environment.table('user_sessions'),
    sessionUses: environment.table('session_uses'),
    sessionExpiry: environment.table('session_expiry'),
    invites: environment.table('invites'),
    workspaceInvites: environment.table('workspace_invites'),
    inviteTokens: environment.table('invite_tokens'),
    pendingInvites: environment.table('pending_invites'),
    inviteExpiry: environment.table('invite_expiry'),
  };
}
