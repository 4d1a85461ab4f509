/**
 * The tables of the product's parts in the management environment, and the records that only the store knows.
 *
 * Webhooks (deliveries have their own environment):
 *   webhook_endpoints    endpointNo                                           -> EndpointRecord
 *   workspace_endpoints  [workspaceNo, endpointNo]                            -> 1
 *
 * Sessions, invites and addresses (the same hash = SHA-256 of the session's secret, base64url):
 *   sessions             hash                                                 -> SessionRecord
 *   user_sessions        ["usr_…", hash]                                      -> 1
 *   session_uses         hash                                                 -> last seen, ms
 *   session_expiry       [expiresAtMs, hash]                                  -> 1, to expire it
 *   invites              "inv_…"                                              -> InviteRecord
 *   workspace_invites    [workspaceNo, "inv_…"]                               -> 1
 *   invite_tokens        SHA-256 of the token, base64url                      -> "inv_…"
 *   pending_invites      [workspaceNo, folded e-mail]                         -> "inv_…", at most one
 *   invite_expiry        [removeAtMs, "inv_…"]                                -> 1, to expire it
 *   unproven_emails      [folded e-mail, "usr_…"]                             -> 1: a member that does not own the address
 *   email_changes        "usr_…"                                              -> EmailChangeRecord
 *
 * Billing:
 *   subscriptions        workspaceNo                                          -> SubscriptionRecord
 *   subscription_due     [dueMs, workspaceNo]                                 -> 1: the durable timer
 *   checkouts            "chk_…"                                              -> CheckoutRecord
 *   open_checkouts       workspaceNo                                          -> "chk_…", at most one
 *   provider_events      provider's event id                                  -> time received, ms
 *   billing_expiry       [removeAtMs, "chk_…" | provider's event id]          -> 1, to expire it
 *
 * Campaigns and conversions (`campaign_codes` decides; `code_campaigns` and the term `campaign` in code-keys.ts repeat it):
 *   campaigns            campaignNo                                           -> CampaignRecord
 *   campaign_ids         "cmp_…"                                              -> campaignNo
 *   workspace_campaigns  [workspaceNo, campaignNo]                            -> PackedSchedule: the list
 *   campaign_due         [endMs, campaignNo]                                  -> 1: the durable timer
 *   campaign_codes       [campaignNo, codeNo]                                 -> PackedMember
 *   code_campaigns       [codeNo, campaignNo]                                 -> 1
 *   conversion_days      [codeNo, day]                                        -> PackedConversions
 *   conversion_keys      [workspaceNo, externalId]                            -> ConversionRecord
 *   conversion_expiry    [removeAtMs, workspaceNo, externalId]                -> 1, to expire it
 *
 * Bulk requests and imports (`name` = sender and Idempotency-Key, workspaces/idempotency.ts):
 *   bulk_requests        [workspaceNo, name]                                  -> BulkRequestRecord
 *   bulk_answers         [workspaceNo, name, first row]                       -> JSON lines, one a row
 *   bulk_expiry          [expiresAtMs, workspaceNo, name]                     -> 1, to expire it
 *   imports              [workspaceNo, SHA-256 of file and options, hex]      -> ImportRecord
 *   link_changes         sequence                                             -> codeNo (link-changes.ts)
 *
 * Logos (name = 32 hexadecimal digits of the picture's SHA-256):
 *   logos                [workspaceNo, name]                                  -> StoredLogo
 *   logo_owners          [name, workspaceNo]                                  -> 1: several workspaces may own one picture
 *   logo_files           name                                                 -> the picture, PNG; in a cluster alone
 *
 * Shared reports and digests (a token is derived from ids by a key outside this file, reports/link-tokens.ts):
 *   reports              "rep_…"                                              -> ReportRecord; removed when revoked
 *   workspace_reports    [workspaceNo, "rep_…"]                               -> 1: the list
 *   report_tokens        SHA-256 of the token, base64url                      -> "rep_…"
 *   digests              ["usr_…", workspaceNo]                               -> DigestRecord
 *   digest_tokens        SHA-256 of the token, base64url                      -> ["usr_…", workspaceNo]
 *   digests_due          [dueAtMs, "usr_…", workspaceNo]                      -> 1: the durable timer, one a digest
 *
 * Watches (ids ascend with time, so a list that is read backward is newest first):
 *   watches              "wch_…"                                              -> WatchRecord
 *   workspace_watches    [workspaceNo, "wch_…"]                               -> PackedSubject: the list, and its filter
 *   watch_findings       "wch_…"                                              -> WatchFindings
 *   watch_scans_due      [dueMs, "wch_…"]                                     -> 1: the durable timers
 *   watch_target_due     [dueMs, "wch_…"]                                     -> 1
 *   watch_incidents      [workspaceNo, "inc_…"]                               -> IncidentRecord
 *   watch_open           [workspaceNo, "inc_…"]                               -> 1: incidents that have not ended
 *   watch_letters        LetterKey                                            -> 1: mail that is not handed over yet
 *   watch_running        "service"                                            -> RunningRecord
 */
import type { CheckoutRecord, SubscriptionRecord } from '../../model/billing.ts';
import type { CampaignRecord } from '../../model/campaign.ts';
import type { DigestRecord, ReportRecord } from '../../model/reports/report.ts';
import type {
  IncidentRecord,
  RunningRecord,
  WatchFindings,
  WatchRecord,
} from '../../model/watches/watch.ts';
import type { EndpointRecord } from '../../model/webhook.ts';
import type { EmailChangeRecord, InviteRecord, SessionRecord } from '../../model/workspace.ts';
import type { StoreEnvironment } from '../environment.ts';

/** What a list filters by, without decoding the record. `endDay`: -1 = none; `isEnded`: its end was emitted. */
export type PackedSchedule = readonly [startDay: number, endDay: number, isEnded: 0 | 1];

/** A code in a campaign and its key in the list's index. A deleted code counts until its analytics are removed. */
export type PackedMember = readonly [
  place: number,
  createdAtMs: number,
  qrCodeId: string,
  isDeleted: 0 | 1,
];

/** Conversions of a code and day, and the sum of their values in ten-thousandths. */
type PackedConversions = readonly [count: number, valueParts: number];

/** A conversion with an external id: a repetition is compared with it and gets the same answer. */
export interface ConversionRecord {
  readonly qrCodeId: string;
  readonly value: number | null;
  readonly createdAtMs: number;
  readonly removeAtMs: number;
}

export interface BulkRequestRecord {
  /** Of the body: another body under the same key is a conflict. */
  readonly fingerprint: string;
  /** Rows done, from the first: each has its line in `bulk_answers`. */
  readonly rows: number;
  readonly created: number;
  readonly expiresAtMs: number;
}

export interface ImportRecord {
  readonly rows: number;
  /** Rows that became codes with all their data. */
  readonly created: number;
  /** Rows that became codes without some of their data. */
  readonly partial: number;
  /** Rows of another domain than the requested one: neither created nor failed. */
  readonly skipped: number;
  readonly startedAtMs: number;
  /** Set when the last row is done. */
  readonly finishedAtMs?: number;
}

export interface StoredLogo {
  readonly width: number;
  readonly height: number;
  /** Of the stored file. */
  readonly bytes: number;
  readonly createdAtMs: number;
}

/** What a list filters by, without decoding the record: the id of the code or campaign, empty = the workspace. */
type PackedSubject = readonly [subjectId: string];

export type LetterKey = [
  atMs: number,
  workspaceNo: number,
  incidentId: string,
  what: 'begun' | 'ended',
  userId: string,
];

const openAccountTables = (environment: StoreEnvironment) => ({
  webhooks: {
    endpoints: environment.table<number, EndpointRecord>('webhook_endpoints', { key: 'uint32' }),
    workspaceEndpoints: environment.set<[number, number]>('workspace_endpoints'),
  },
  people: {
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
  },
  billing: {
    subscriptions: environment.table<number, SubscriptionRecord>('subscriptions', {
      key: 'uint32',
    }),
    subscriptionDue: environment.set<[number, number]>('subscription_due'),
    checkouts: environment.table<string, CheckoutRecord>('checkouts'),
    openCheckouts: environment.table<number, string>('open_checkouts', { key: 'uint32' }),
    providerEvents: environment.table<string, number>('provider_events'),
    billingExpiry: environment.set<[number, string]>('billing_expiry'),
  },
});

const openCodeTables = (environment: StoreEnvironment) => ({
  campaigns: {
    campaigns: environment.table<number, CampaignRecord>('campaigns', { key: 'uint32' }),
    campaignIds: environment.table<string, number>('campaign_ids'),
    workspaceCampaigns: environment.table<[number, number], PackedSchedule>('workspace_campaigns'),
    campaignDue: environment.set<[number, number]>('campaign_due'),
    campaignCodes: environment.table<[number, number], PackedMember>('campaign_codes'),
    codeCampaigns: environment.set<[number, number]>('code_campaigns'),
    conversionDays: environment.table<[number, number], PackedConversions>('conversion_days'),
    conversionKeys: environment.table<[number, string], ConversionRecord>('conversion_keys'),
    conversionExpiry: environment.set<[number, number, string]>('conversion_expiry'),
  },
  bulk: {
    requests: environment.table<[number, string], BulkRequestRecord>('bulk_requests'),
    answers: environment.table<[number, string, number], string>('bulk_answers', {
      value: 'string',
    }),
    expiry: environment.set<[number, number, string]>('bulk_expiry'),
    imports: environment.table<[number, string], ImportRecord>('imports'),
    linkChanges: environment.table<number, number>('link_changes'),
  },
  logos: {
    logos: environment.table<[number, string], StoredLogo>('logos'),
    owners: environment.set<[string, number]>('logo_owners'),
    files: environment.table<string, Uint8Array>('logo_files', { value: 'binary' }),
  },
  reports: {
    reports: environment.table<string, ReportRecord>('reports'),
    workspaceReports: environment.set<[number, string]>('workspace_reports'),
    reportTokens: environment.table<string, string>('report_tokens'),
    digests: environment.table<[string, number], DigestRecord>('digests'),
    digestTokens: environment.table<string, readonly [string, number]>('digest_tokens'),
    digestsDue: environment.set<[number, string, number]>('digests_due'),
  },
  watches: {
    watches: environment.table<string, WatchRecord>('watches'),
    workspaceWatches: environment.table<[number, string], PackedSubject>('workspace_watches'),
    findings: environment.table<string, WatchFindings>('watch_findings'),
    scansDue: environment.set<[number, string]>('watch_scans_due'),
    targetDue: environment.set<[number, string]>('watch_target_due'),
    incidents: environment.table<[number, string], IncidentRecord>('watch_incidents'),
    open: environment.set<[number, string]>('watch_open'),
    letters: environment.set<LetterKey>('watch_letters'),
    running: environment.table<string, RunningRecord>('watch_running'),
  },
});

export const openProductTables = (environment: StoreEnvironment) => ({
  ...openAccountTables(environment),
  ...openCodeTables(environment),
});

export type WatchTables = ReturnType<typeof openProductTables>['watches'];
