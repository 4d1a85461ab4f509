/**
 * The tables of the product's parts in the management environment, and the records that only the store knows. `…_due` and
 * `…_expiry` are durable timers (due-table.ts). A set of two keys is an index. What the declarations do not say:
 *
 *   sessions, session_uses  by the SHA-256 of the session's secret, base64url
 *   …_tokens                by the SHA-256 of the token, base64url
 *   pending_invites         [workspaceNo, folded e-mail], at most one
 *   unproven_emails         [folded e-mail, "usr_…"]: a member that does not own the address
 *   open_checkouts          at most one for a workspace
 *   provider_events         provider's event id -> time received, ms
 *   campaign_codes          decides; `code_campaigns` and the term `campaign` (code-keys.ts) repeat it
 *   conversion_days         [codeNo, day];  conversion_keys: [workspaceNo, external id]
 *   bulk_requests           [workspaceNo, name]: sender and Idempotency-Key (product/workspaces/idempotency.ts)
 *   bulk_answers            [workspaceNo, name, first row] -> JSON lines, one a row
 *   imports                 [workspaceNo, SHA-256 of file and options, hex]
 *   logos                   [workspaceNo, name]: 32 hexadecimal digits of the picture's SHA-256
 *   logo_owners             [name, workspaceNo]: several workspaces may own one picture
 *   logo_files              the picture, PNG
 *   reports                 removed when revoked
 *   watches, incidents      ids ascend with time: read backward, a list is newest first
 *   watch_running           one record, "service"
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
import type { WorkspaceNo } from '../../model/numbers.ts';
import { DueTable } from '../due-table.ts';
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
}

export interface BulkRequestRecord {
  /** Of the body: another body under the same key is a conflict. */
  readonly fingerprint: string;
  readonly created: number;
}

export interface ImportReason {
  readonly code: string;
  readonly message: string;
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
  /** Of the last batch, for each code of each row: why it was not made, else null. */
  readonly reasons: ReadonlyArray<ReadonlyArray<ImportReason | null>>;
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

const openAccountTables = (environment: StoreEnvironment) => ({
  webhooks: {
    endpoints: environment.table<number, EndpointRecord>('webhook_endpoints', { key: 'uint32' }),
    workspaceEndpoints: environment.set<[number, number]>('workspace_endpoints'),
  },
  people: {
    sessions: environment.table<string, SessionRecord>('sessions'),
    userSessions: environment.set<[string, string]>('user_sessions'),
    sessionUses: environment.table<string, number>('session_uses'),
    sessionExpiry: new DueTable<[digest: string]>(environment, 'session_expiry'),
    invites: environment.table<string, InviteRecord>('invites'),
    workspaceInvites: environment.set<[number, string]>('workspace_invites'),
    inviteTokens: environment.table<string, string>('invite_tokens'),
    pendingInvites: environment.table<[number, string], string>('pending_invites'),
    inviteExpiry: new DueTable<[inviteId: string]>(environment, 'invite_expiry'),
    unprovenEmails: environment.set<[string, string]>('unproven_emails'),
    emailChanges: environment.table<string, EmailChangeRecord>('email_changes'),
  },
  billing: {
    subscriptions: environment.table<number, SubscriptionRecord>('subscriptions', {
      key: 'uint32',
    }),
    subscriptionDue: new DueTable<[workspaceNo: WorkspaceNo]>(environment, 'subscription_due'),
    checkouts: environment.table<string, CheckoutRecord>('checkouts'),
    openCheckouts: environment.table<number, string>('open_checkouts', { key: 'uint32' }),
    providerEvents: environment.table<string, number>('provider_events'),
    billingExpiry: new DueTable<[id: string]>(environment, 'billing_expiry'),
  },
});

const openCodeTables = (environment: StoreEnvironment) => ({
  campaigns: {
    campaigns: environment.table<number, CampaignRecord>('campaigns', { key: 'uint32' }),
    campaignIds: environment.table<string, number>('campaign_ids'),
    workspaceCampaigns: environment.table<[number, number], PackedSchedule>('workspace_campaigns'),
    campaignDue: new DueTable<[campaignNo: number]>(environment, 'campaign_due'),
    campaignCodes: environment.table<[number, number], PackedMember>('campaign_codes'),
    codeCampaigns: environment.set<[number, number]>('code_campaigns'),
    conversionDays: environment.table<[number, number], PackedConversions>('conversion_days'),
    conversionKeys: environment.table<[number, string], ConversionRecord>('conversion_keys'),
    conversionExpiry: new DueTable<[workspaceNo: WorkspaceNo, externalId: string]>(
      environment,
      'conversion_expiry',
    ),
  },
  bulk: {
    requests: environment.table<[number, string], BulkRequestRecord>('bulk_requests'),
    answers: environment.table<[number, string, number], string>('bulk_answers', {
      value: 'string',
    }),
    expiry: new DueTable<[workspaceNo: WorkspaceNo, name: string]>(environment, 'bulk_expiry'),
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
    digestsDue: new DueTable<[userId: string, workspaceNo: WorkspaceNo]>(
      environment,
      'digests_due',
    ),
  },
  watches: {
    watches: environment.table<string, WatchRecord>('watches'),
    workspaceWatches: environment.table<[number, string], PackedSubject>('workspace_watches'),
    findings: environment.table<string, WatchFindings>('watch_findings'),
    scansDue: new DueTable<[watchId: string]>(environment, 'watch_scans_due'),
    targetDue: new DueTable<[watchId: string]>(environment, 'watch_target_due'),
    incidents: environment.table<[number, string], IncidentRecord>('watch_incidents'),
    open: environment.set<[number, string]>('watch_open'),
    running: environment.table<string, RunningRecord>('watch_running'),
  },
});

export const openProductTables = (environment: StoreEnvironment) => ({
  ...openAccountTables(environment),
  ...openCodeTables(environment),
});
