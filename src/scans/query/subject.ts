import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

/** Whose scans; all by number. A code or codes come with the workspace that asks: it has one raw query at a time. */
export type Subject = (
  | { readonly code: CodeNo; readonly workspace?: WorkspaceNo }
  | { readonly codes: Iterable<CodeNo>; readonly workspace?: WorkspaceNo }
  | { readonly workspace: WorkspaceNo }
) & {
  /** Absent = the query is never canceled. */
  readonly client?: QueryClient | undefined;
};

export interface CodeScans {
  readonly codeNo: CodeNo;
  readonly scans: number;
}

/** Ties by age of the code. */
export const mostScansFirst = (one: CodeScans, other: CodeScans): number =>
  other.scans - one.scans || one.codeNo - other.codeNo;

/** Progress and cancellation of one query. */
export class QueryClient {
  readonly #canceled = new AbortController();
  readonly signal = this.#canceled.signal;
  /** The pass over raw scans that it waits for; `share` done, 0 to 1. */
  waitsFor: { readonly share: number } | undefined;

  cancel(): void {
    this.#canceled.abort(new Error('Cannot answer: the query was canceled'));
  }
}
