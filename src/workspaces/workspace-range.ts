/** Every key `[workspaceNo, id]` of a workspace. */
export function workspaceRange(workspaceNo: number) {
  const start: [number, string] = [workspaceNo, ''];
  const end: [number, string] = [workspaceNo + 1, ''];
  return { start, end };
}
