/**
 * The tables of what comes in by the thousand, in the management environment: what was made of a row
 * commits with the note that it was done.
 *
 *   bulk_requests        [workspaceNo, name]                                  -> BulkRequestRecord
 *   bulk_answers         [workspaceNo, name, first row]                       -> JSON lines, one a row
 *   bulk_expiry          [expiresAtMs, workspaceNo, name]                     -> 1, to expire it
 *   imports              [workspaceNo, SHA-256 of file and options, hex]      -> ImportRecord
 *   link_changes         sequence                                             -> codeNo
 *
 * `name` is of the sender and its Idempotency-Key (workspaces/idempotency.ts).
 * `link_changes` numbers the changes of links, of every process; link-changes.ts says who follows them.
 */
import type { StoreEnvironment } from '../environment.ts';

export interface BulkRequestRecord {
  /** Of the body: another one under the key is a conflict. */
  readonly fingerprint: string;
  /** Rows done, from the first: each has its line in `bulk_answers`. */
  readonly rows: number;
  readonly created: number;
  readonly expiresAtMs: number;
}

/** How far a file has come. */
export interface ImportRecord {
  /** Rows done, from the first. */
  readonly rows: number;
  /** Rows that became codes with everything they had. */
  readonly created: number;
  /** Rows that became codes without something they had. */
  readonly partial: number;
  /** Rows of another domain than the wanted one: neither created nor failed. */
  readonly skipped: number;
  readonly startedAtMs: number;
  /** Set when its last row is done. */
  readonly finishedAtMs?: number;
}

export function openBulkTables(environment: StoreEnvironment) {
  return {
    requests: environment.table<[number, string], BulkRequestRecord>('bulk_requests'),
    answers: environment.table<[number, string, number], string>('bulk_answers', {
      value: 'string',
    }),
    expiry: environment.set<[number, number, string]>('bulk_expiry'),
    imports: environment.table<[number, string], ImportRecord>('imports'),
    linkChanges: environment.table<number, number>('link_changes'),
  };
}
