/**
 * The management environment: workspaces, users, keys, QR codes with their indexes, and the outbox
 * of their events, in one file, so that a change, its indexes and its event commit together.
 *
 * Keys (ordered-binary where a tuple is shown; code-keys.ts draws the binary ones):
 *
 *   meta                 "schema" | "next:<sequence>" | "version:access"      -> number
 *   workspaces           workspaceNo                                          -> WorkspaceRecord
 *   workspace_ids        "ws_…"                                               -> workspaceNo
 *   users                "usr_…"                                              -> UserRecord
 *   user_emails          folded e-mail                                        -> "usr_…"
 *   memberships          [workspaceNo, "usr_…"]                               -> MembershipRecord
 *   user_workspaces      ["usr_…", workspaceNo]                               -> 1
 *   api_keys             "key_…"                                              -> ApiKeyRecord
 *   workspace_keys       [workspaceNo, "key_…"]                               -> 1
 *   key_uses             "key_…"                                              -> last use, ms
 *   codes                codeNo                                               -> packed record (code-codec.ts)
 *   code_ids             "qr_…"                                               -> codeNo
 *   code_terms           workspaceNo, term, createdAtMs, codeNo               -> nothing: the list's index
 *   term_counts          workspaceNo, term                                    -> live codes with the term
 *   short_codes          folded short code                                    -> codeNo, kept for ever
 *   links                codeNo >> 4                                          -> block of links (link-blocks.ts)
 *   deleted_codes        [deletedAtMs, codeNo]                                -> 1, for the retention sweep
 *   code_edits           a number, modulo the ring's size (codes/code-edits.ts) -> StoredEdit
 *   events               sequence                                             -> StoredEvent
 *   workspace_events     [workspaceNo, sequence]                              -> 1
 *   idempotency          [workspaceNo, key]                                   -> kept answer
 *   idempotency_expiry   [expiresAtMs, workspaceNo, key]                      -> 1
 *   quota                workspaceNo                                          -> windows (workspaces/quota.ts)
 *   …                    people, billing, bulk, campaigns, logos and webhooks draw theirs
 *
 * Transactions check first and write after: lmdb batches them, so a throw does not undo what the
 * same work has written before it (tested).
 *
 * Schema version: an older file is migrated step by step, each step in one transaction together with
 * its version number, so a kill midway repeats that step only; a newer file is refused.
 */
import type {
  ApiKeyRecord,
  MembershipRecord,
  UserRecord,
  WorkspaceRecord,
} from '../../model/workspace.ts';
import type { EventKind } from '../../model/event.ts';
import { type BillingTables, openBillingTables } from './billing.ts';
import { type CampaignTables, openCampaignTables } from './campaigns.ts';
import { type BulkTables, openBulkTables } from './bulk.ts';
import type { PackedCode } from './code-codec.ts';
import { StoreEnvironment, type Table } from '../environment.ts';
import { type LogoTables, openLogoTables } from './logos.ts';
import { openPeopleTables, type PeopleTables } from './people.ts';
import { openWebhookTables, type WebhookTables } from './webhooks.ts';

/** The layout this program writes. */
const schemaVersion = 1;

/** Lifts data of version `index + 1` to the next one, inside a transaction. */
export type Migration = (management: Management) => void;
const migrations: readonly Migration[] = [];

export interface StoredEvent {
  readonly id: string;
  readonly kind: EventKind;
  readonly workspaceNo: number;
  readonly createdAtMs: number;
  /** The exact JSON of the envelope. */
  readonly body: string;
}

export interface StoredAnswer {
  readonly fingerprint: string;
  readonly expiresAtMs: number;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** [window, count] of the minute and the day, newest first. */
export interface StoredQuota {
  readonly minutes: ReadonlyArray<readonly [number, number]>;
  readonly days: ReadonlyArray<readonly [number, number]>;
}

export type StoredEdit = readonly [
  sequence: number,
  workspaceNo: number,
  createdAtMs: number,
  codeNo: number,
];

export type Sequence = 'workspace' | 'code' | 'link' | 'edit' | 'event' | 'endpoint' | 'campaign';

export class Management {
  readonly environment: StoreEnvironment;
  readonly meta: Table<string, number>;
  readonly workspaces: Table<number, WorkspaceRecord>;
  readonly workspaceIds: Table<string, number>;
  readonly users: Table<string, UserRecord>;
  readonly userEmails: Table<string, string>;
  readonly memberships: Table<[number, string], MembershipRecord>;
  readonly userWorkspaces: Table<[string, number], number>;
  readonly apiKeys: Table<string, ApiKeyRecord>;
  readonly workspaceKeys: Table<[number, string], number>;
  readonly keyUses: Table<string, number>;
  readonly codes: Table<number, PackedCode>;
  readonly codeIds: Table<string, number>;
  readonly codeTerms: Table<Uint8Array, Uint8Array>;
  readonly termCounts: Table<Uint8Array, number>;
  readonly shortCodes: Table<string, number>;
  readonly links: Table<number, Uint8Array>;
  readonly deletedCodes: Table<[number, number], number>;
  readonly codeEdits: Table<number, StoredEdit>;
  readonly events: Table<number, StoredEvent>;
  readonly workspaceEvents: Table<[number, number], number>;
  readonly idempotency: Table<[number, string], StoredAnswer>;
  readonly idempotencyExpiry: Table<[number, number, string], number>;
  readonly quota: Table<number, StoredQuota>;
  readonly people: PeopleTables;
  readonly billing: BillingTables;
  readonly campaigns: CampaignTables;
  readonly bulk: BulkTables;
  readonly logos: LogoTables;
  readonly webhooks: WebhookTables;

  constructor(path: string) {
    const environment = new StoreEnvironment(path);
    this.environment = environment;
    this.meta = environment.table('meta');
    this.workspaces = environment.table('workspaces', { key: 'uint32' });
    this.workspaceIds = environment.table('workspace_ids');
    this.users = environment.table('users');
    this.userEmails = environment.table('user_emails');
    this.memberships = environment.table('memberships');
    this.userWorkspaces = environment.table('user_workspaces');
    this.apiKeys = environment.table('api_keys');
    this.workspaceKeys = environment.table('workspace_keys');
    this.keyUses = environment.table('key_uses');
    this.codes = environment.table('codes', { key: 'uint32' });
    this.codeIds = environment.table('code_ids');
    this.codeTerms = environment.table('code_terms', { key: 'binary', value: 'binary' });
    this.termCounts = environment.table('term_counts', { key: 'binary' });
    this.shortCodes = environment.table('short_codes');
    this.links = environment.table('links', { key: 'uint32', value: 'binary' });
    this.deletedCodes = environment.table('deleted_codes');
    this.codeEdits = environment.table('code_edits', { key: 'uint32' });
    this.events = environment.table('events');
    this.workspaceEvents = environment.table('workspace_events');
    this.idempotency = environment.table('idempotency');
    this.idempotencyExpiry = environment.table('idempotency_expiry');
    this.quota = environment.table('quota', { key: 'uint32' });
    this.people = openPeopleTables(environment);
    this.billing = openBillingTables(environment);
    this.campaigns = openCampaignTables(environment);
    this.bulk = openBulkTables(environment);
    this.logos = openLogoTables(environment);
    this.webhooks = openWebhookTables(environment);
  }

  /** The next number of a sequence, from 1, without gaps. Inside a transaction. */
  next(sequence: Sequence): number {
    const key = `next:${sequence}`;
    const value = this.meta.get(key) ?? 1;
    this.meta.put(key, value + 1);
    return value;
  }

  /** The last number given out, 0 when none. */
  last(sequence: Sequence): number {
    return (this.meta.get(`next:${sequence}`) ?? 1) - 1;
  }

  async close(): Promise<void> {
    await this.environment.close();
  }
}

/**
 * Opens the environment at `path`, migrating older data.
 * @throws Error with a text for the operator when the data was written by a newer program
 */
export function openManagement(
  path: string,
  version = schemaVersion,
  steps: readonly Migration[] = migrations,
): Management {
  const management = new Management(path);
  try {
    migrate(management, version, steps);
    return management;
  } catch (error) {
    void management.close();
    throw error;
  }
}

function migrate(management: Management, version: number, steps: readonly Migration[]): void {
  const { environment, meta } = management;
  // Read first: a service on a full disk still starts, and redirects.
  const found =
    meta.get('schema') ??
    environment.transactionSync(() => {
      const stored = meta.get('schema');
      if (stored === undefined) meta.put('schema', version);
      return stored ?? version;
    });
  if (found > version) {
    throw new Error(
      `Cannot open ${environment.path}: its data has version ${found}, expected ${version} or older; ` +
        'start a newer Quietzone, or restore a backup made by this one',
    );
  }
  for (let from = found; from < version; from++) {
    const step = steps[from - 1];
    if (step === undefined) throw new Error(`Cannot migrate from version ${from}: no such step`);
    environment.transactionSync(() => {
      // Looked at again: another process may have taken the step while this one waited for the lock.
      if (meta.get('schema') !== from) return;
      step(management);
      meta.put('schema', from + 1);
    });
  }
}
