/** Row numbers. The compiler accepts a plain number, but not one kind for another. */
type Numbered<Kind extends string> = number & { readonly numberOf?: Kind };

/** Dense, from 1, in the order of creation; the key of a code in every store. */
export type CodeNo = Numbered<'code'>;
export type WorkspaceNo = Numbered<'workspace'>;
export type EndpointNo = Numbered<'endpoint'>;

/** Every key `[workspaceNo, no]` of a workspace. */
export function workspaceNumbers(workspaceNo: WorkspaceNo) {
  const start: [number, number] = [workspaceNo, 0];
  const end: [number, number] = [workspaceNo + 1, 0];
  return { start, end };
}

/** Every key `[workspaceNo, id]` of a workspace. */
export function workspaceRange(workspaceNo: WorkspaceNo) {
  const start: [number, string] = [workspaceNo, ''];
  const end: [number, string] = [workspaceNo + 1, ''];
  return { start, end };
}
