import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';
import type { Asker } from './asker.ts';

/** Whose scans; all by number. With a code or codes, the workspace that asks: it has one raw query at a time. */
export type Subject = (
  | { readonly code: CodeNo; readonly workspace?: WorkspaceNo }
  | { readonly codes: Iterable<CodeNo>; readonly workspace?: WorkspaceNo }
  | { readonly workspace: WorkspaceNo }
) & {
  /** Absent = nobody who could leave. */
  readonly asker?: Asker | undefined;
};

export interface CodeScans {
  readonly codeNo: CodeNo;
  readonly scans: number;
}
