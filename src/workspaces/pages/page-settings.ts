/**
 * What workspaces say on the pages of their codes: stored under the number of the change, which redirect threads follow
 * (engine/page-feed.ts).
 */
import type { WorkspaceNo } from '../../model/numbers.ts';
import { noPages, type WorkspacePages } from '../../model/routing/pages.ts';
import type { Management } from '../../store/management/management.ts';

/** @throws Failure data_damaged */
export function readPages(store: Management, workspaceNo: WorkspaceNo): WorkspacePages {
  const stored = store.pages.workspaces.get(workspaceNo);
  return stored === undefined ? noPages : { brand: stored.brand, texts: stored.texts };
}

/** Inside a transaction. */
export function writePages(
  store: Management,
  workspaceNo: WorkspaceNo,
  { brand, texts }: WorkspacePages,
): void {
  const { workspaces, changes } = store.pages;
  const before = workspaces.get(workspaceNo, () => undefined);
  if (before !== undefined) changes.remove([before.change, workspaceNo]);
  const change = store.next('pages');
  workspaces.put(workspaceNo, { brand, texts, change });
  changes.put([change, workspaceNo], 1);
}
