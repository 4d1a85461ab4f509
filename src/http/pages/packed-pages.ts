/** The pages of workspaces as JSON in memory that all redirect threads share; parsed for the first page. */
import { parsePages, type WorkspacePages } from '../../model/routing/pages.ts';

export type PackedPages = SharedArrayBuffer;

/** By workspace; undefined = removed. */
export type PageChanges = ReadonlyArray<
  readonly [workspaceNo: number, packed: PackedPages | undefined]
>;

export function packPages(pages: WorkspacePages): PackedPages {
  const bytes = Buffer.from(JSON.stringify(pages));
  const packed = new SharedArrayBuffer(bytes.length);
  Buffer.from(packed).set(bytes);
  return packed;
}

/** @param packed from `packPages`, in this process */
export function unpackPages(packed: PackedPages): WorkspacePages {
  return parsePages(Buffer.from(packed).toString());
}
