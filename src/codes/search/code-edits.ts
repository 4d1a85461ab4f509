/**
 * The last edits of codes, numbered, for the copies in memory (search-columns.ts): the next search sees a change or a deletion,
 * whichever core made it. New codes need no entry: a copy notices them by their count, so creating by the thousand costs nothing.
 * An edit costs two writes, about 4 us of a request.
 *
 * A ring: entry n is at n modulo its size, so nothing is removed. A copy that is further behind is made again, which costs no
 * more than reading the whole ring.
 */
import type { ListPosition } from '../../store/management/code-keys.ts';
import type { Management } from '../../store/management/management.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';

/** Entries kept, of all workspaces together: about 2 MB of the file. */
const ringSize = 65_536;

export interface CodeEdit extends ListPosition {
  readonly workspaceNo: WorkspaceNo;
}

/** Inside the transaction of the edit. */
export function noteEdit(store: Management, { workspaceNo, createdAtMs, no }: CodeEdit): void {
  const sequence = store.next('edit');
  store.codeEdits.put(sequence % ringSize, [sequence, workspaceNo, createdAtMs, no]);
}

/** Undefined when newer ones have taken its place, or it is damaged. */
export function findEdit(store: Management, sequence: number): CodeEdit | undefined {
  const [stored, workspaceNo = 0, createdAtMs = 0, no = 0] =
    store.codeEdits.get(sequence % ringSize, () => undefined) ?? [];
  return stored === sequence ? { workspaceNo, createdAtMs, no } : undefined;
}
