/** What the link table is filled with at start. */
import type { LinkState } from '../model/code.ts';
import type { CodeNo, WorkspaceNo } from '../model/numbers.ts';

/** A link without a limit, as it is stored: key, target and program stand in `bytes`, one behind the other. */
export interface StoredLinkBytes {
  readonly bytes: Buffer;
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly targetEnd: number;
  readonly programStart: number;
  /** `programStart` without a program. */
  readonly programEnd: number;
  readonly codeNo: CodeNo;
  readonly workspaceNo: WorkspaceNo;
  /** 0 = never. */
  readonly expiresAtMs: number;
  readonly state: LinkState;
}
