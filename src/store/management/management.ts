/**
 * The management environment: workspaces, users, keys, QR codes with their indexes, and the outbox of their events.
 * One file, so that a change, its indexes and its event commit together.
 *
 * Keys (ordered-binary where a tuple is shown; code-keys.ts draws the binary ones):
 *
 *   meta                 "schema" | "next:<sequence>" | "version:access"      -> number
 *   user_emails          folded e-mail                                        -> "usr_…", who owns the address
 *   key_uses             "key_…"                                              -> last use, ms
 *   codes                codeNo                                               -> packed record (code-codec.ts)
 *   code_terms           workspaceNo, term, createdAtMs, codeNo               -> 1: the list's index
 *   list_versions        workspaceNo                                          -> changes of its codes so far
 *   tag_spellings        [workspaceNo, key of a tag (model/fold.ts)]           -> the tag as it was first written
 *   short_codes          folded short code                                    -> codeNo, never removed
 *   external_ids         [workspaceNo, external id]                           -> codeNo of a live code
 *   links                codeNo >> 4                                          -> block of links (link-blocks.ts)
 *   idempotency          [workspaceNo, name]  (product/workspaces/idempotency.ts)      -> StoredAnswer
 *   installation         mark, fingerprints of key files                      (store/installation.ts)
 *   …                    ids and indexes as declared below; product-tables.ts, pages.ts, cluster.ts
 */
import type {
  ApiKeyRecord,
  MembershipRecord,
  UserRecord,
  WorkspaceRecord,
} from '../../model/workspace.ts';
import type { EventKind } from '../../model/event.ts';
import { openClusterTables } from './cluster.ts';
import type { PackedCode } from './code-codec.ts';
import type { OpenMode, StoreEnvironment, Table } from '../environment.ts';
import { type EnvironmentVersion, openEnvironment } from '../open-environment.ts';
import { openInstallationTable } from '../installation.ts';
import { openPageTables } from './pages.ts';
import { openProductTables } from './product-tables.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';

export interface StoredEvent {
  readonly id: string;
  readonly kind: EventKind;
  readonly workspaceNo: WorkspaceNo;
  readonly createdAtMs: number;
  readonly body: string;
}

export interface StoredAnswer {
  readonly fingerprint: string;
  readonly expiresAtMs: number;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface StoredQuota {
  readonly minutes: ReadonlyArray<readonly [number, number]>;
  readonly days: ReadonlyArray<readonly [number, number]>;
}

export type Sequence =
  | 'workspace'
  | 'code'
  | 'link'
  | 'event'
  | 'endpoint'
  | 'campaign'
  | 'pages'
  | 'zones'
  | 'journal'
  | 'node';

function openTables(environment: StoreEnvironment) {
  return {
    workspaces: environment.table<number, WorkspaceRecord>('workspaces', { key: 'uint32' }),
    workspaceIds: environment.table<string, number>('workspace_ids'),
    users: environment.table<string, UserRecord>('users'),
    userEmails: environment.table<string, string>('user_emails'),
    memberships: environment.table<[number, string], MembershipRecord>('memberships'),
    userWorkspaces: environment.set<[string, number]>('user_workspaces'),
    apiKeys: environment.table<string, ApiKeyRecord>('api_keys'),
    workspaceKeys: environment.set<[number, string]>('workspace_keys'),
    keyUses: environment.table<string, number>('key_uses'),
    codes: environment.table<number, PackedCode>('codes', { key: 'uint32' }),
    codeIds: environment.table<string, number>('code_ids'),
    codeTerms: environment.set<Uint8Array>('code_terms', 'binary'),
    listVersions: environment.table<number, number>('list_versions', { key: 'uint32' }),
    tagSpellings: environment.table<[number, string], string>('tag_spellings', { value: 'string' }),
    shortCodes: environment.table<string, number>('short_codes'),
    externalIds: environment.table<[number, string], number>('external_ids'),
    links: environment.table<number, Uint8Array>('links', { key: 'uint32', value: 'binary' }),
    deletedCodes: environment.set<[number, number]>('deleted_codes'),
    events: environment.table<number, StoredEvent>('events'),
    workspaceEvents: environment.set<[number, number]>('workspace_events'),
    idempotency: environment.table<[number, string], StoredAnswer>('idempotency'),
    idempotencyExpiry: environment.set<[number, number, string]>('idempotency_expiry'),
    quota: environment.table<number, StoredQuota>('quota', { key: 'uint32' }),
    ...openProductTables(environment),
    pages: openPageTables(environment),
    cluster: openClusterTables(environment),
  };
}

export interface Management extends ReturnType<typeof openTables> {
  readonly environment: StoreEnvironment;
  readonly meta: Table<string, number>;
  readonly installation: ReturnType<typeof openInstallationTable>;
  /** The next number of a sequence, from 1, without gaps; inside a transaction. */
  readonly next: (sequence: Sequence) => number;
  /** The last assigned number; 0 without one. */
  readonly last: (sequence: Sequence) => number;
  readonly close: () => Promise<void>;
}

export const managementVersion: EnvironmentVersion = { version: 1, migrations: [] };

/** @throws Error with a message for the operator if a newer program wrote the data */
export function openManagement(path: string, mode: OpenMode = 'existing'): Management {
  const { environment, meta } = openEnvironment(path, managementVersion, mode);
  const nextOf = (sequence: Sequence): number => meta.get(`next:${sequence}`) ?? 1;
  return {
    environment,
    meta,
    ...openTables(environment),
    installation: openInstallationTable(environment),
    next: (sequence) => {
      const value = nextOf(sequence);
      meta.put(`next:${sequence}`, value + 1);
      return value;
    },
    last: (sequence) => nextOf(sequence) - 1,
    close: async () => await environment.close(),
  };
}
