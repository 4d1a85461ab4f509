import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

/** Whose scans; all by number. A code or codes come with the workspace that asks: it has one raw query at a time. */
export type Subject =
  | { readonly code: CodeNo; readonly workspace?: WorkspaceNo }
  | { readonly codes: Iterable<CodeNo>; readonly workspace?: WorkspaceNo }
  | { readonly workspace: WorkspaceNo };

export interface CodeScans {
  readonly codeNo: CodeNo;
  readonly scans: number;
}

/** Ties by age of the code. */
export const mostScansFirst = (one: CodeScans, other: CodeScans): number =>
  other.scans - one.scans || one.codeNo - other.codeNo;
