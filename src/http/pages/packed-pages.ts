/**
 * The pages of workspaces as all redirect threads share them: JSON in memory that is not copied for each, read when the
 * first page is asked for.
 */
import { parsePages, type WorkspacePages } from '../../model/routing/pages.ts';

export type PackedPages = SharedArrayBuffer;

/** By workspace; undefined = it says nothing any more. */
export type PageChanges = ReadonlyArray<
  readonly [workspaceNo: number, packed: PackedPages | undefined]
>;

export function packPages(pages: WorkspacePages): PackedPages {
  const bytes = Buffer.from(JSON.stringify(pages));
  const packed = new SharedArrayBuffer(bytes.length);
  Buffer.from(packed).set(bytes);
  return packed;
}

/** @param packed made by `packPages`, in this process */
export function unpackPages(packed: PackedPages): WorkspacePages {
  return parsePages(Buffer.from(packed).toString());
}
