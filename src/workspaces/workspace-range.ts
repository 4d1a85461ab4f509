/** Every key `[workspaceNo, id]` of a workspace. */
import type { WorkspaceNo } from '../model/numbers.ts';

export function workspaceRange(workspaceNo: WorkspaceNo) {
  const start: [number, string] = [workspaceNo, ''];
  const end: [number, string] = [workspaceNo + 1, ''];
  return { start, end };
}
