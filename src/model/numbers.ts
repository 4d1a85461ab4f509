/**
 * Row numbers, told apart by the compiler. A plain number becomes any of them, as it is read from a key;
 * one kind in the place of another does not compile. They cost nothing at run time.
 */
type Numbered<Kind extends string> = number & { readonly numberOf?: Kind };

/** 1, 2, 3 ... in the order codes were created; the key of a code in every store. */
export type CodeNo = Numbered<'code'>;
export type WorkspaceNo = Numbered<'workspace'>;
export type EndpointNo = Numbered<'endpoint'>;

/** Every key `[workspaceNo, id]` of a workspace. */
export function workspaceRange(workspaceNo: WorkspaceNo) {
  const start: [number, string] = [workspaceNo, ''];
  const end: [number, string] = [workspaceNo + 1, ''];
  return { start, end };
}
