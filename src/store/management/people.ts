/**
 * The tables of sessions, invites and addresses, in the management environment: an invite, the membership it
 * becomes, and their events commit together.
 *
 *   sessions             SHA-256 of the session's secret, base64url           -> SessionRecord
 *   user_sessions        ["usr_…", the same hash]                             -> 1
 *   session_uses         the same hash                                        -> last seen, ms
 *   session_expiry       [expiresAtMs, the same hash]                         -> 1, to expire it
 *   invites              "inv_…"                                              -> InviteRecord
 *   workspace_invites    [workspaceNo, "inv_…"]                               -> 1
 *   invite_tokens        SHA-256 of the token, base64url                      -> "inv_…"
 *   pending_invites      [workspaceNo, folded e-mail]                         -> "inv_…", at most one
 *   invite_expiry        [removeAtMs, "inv_…"]                                -> 1, to expire it
 *   unproven_emails      [folded e-mail, "usr_…"]                             -> 1: accounts that are members
 *                                                                               and do not own the address
 *   email_changes        "usr_…"                                              -> EmailChangeRecord
 */
import type { EmailChangeRecord, InviteRecord, SessionRecord } from '../../model/workspace.ts';
import type { StoreEnvironment } from '../environment.ts';

export function openPeopleTables(environment: StoreEnvironment) {
  return {
    sessions: environment.table<string, SessionRecord>('sessions'),
    userSessions: environment.set<[string, string]>('user_sessions'),
    sessionUses: environment.table<string, number>('session_uses'),
    sessionExpiry: environment.set<[number, string]>('session_expiry'),
    invites: environment.table<string, InviteRecord>('invites'),
    workspaceInvites: environment.set<[number, string]>('workspace_invites'),
    inviteTokens: environment.table<string, string>('invite_tokens'),
    pendingInvites: environment.table<[number, string], string>('pending_invites'),
    inviteExpiry: environment.set<[number, string]>('invite_expiry'),
    unprovenEmails: environment.set<[string, string]>('unproven_emails'),
    emailChanges: environment.table<string, EmailChangeRecord>('email_changes'),
  };
}
