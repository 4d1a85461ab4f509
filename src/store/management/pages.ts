/**
 * What workspaces say on the pages of their codes, in the management environment. Not in the record of the workspace, which
 * every request reads.
 *
 *   workspace_pages   workspaceNo                -> StoredPages
 *   page_changes      [change, workspaceNo]      -> 1: one for each record, by the number of its last change
 *
 * A workspace that says nothing any more keeps an empty record, so that what follows the changes sees it.
 */
import type { WorkspacePages } from '../../model/routing/pages.ts';
import type { StoreEnvironment } from '../environment.ts';

export interface StoredPages extends WorkspacePages {
  /** The number of its last change, from the sequence `pages`. */
  readonly change: number;
}

export function openPageTables(environment: StoreEnvironment) {
  return {
    workspaces: environment.table<number, StoredPages>('workspace_pages', { key: 'uint32' }),
    changes: environment.set<[number, number]>('page_changes'),
  };
}

interface PageStore {
  readonly pages: ReturnType<typeof openPageTables>;
  readonly next: (sequence: 'pages') => number;
}

/** Under the number of a new change; inside a transaction. */
export function putPages(
  store: PageStore,
  workspaceNo: number,
  { brand, texts }: WorkspacePages,
): void {
  const { workspaces, changes } = store.pages;
  const before = workspaces.get(workspaceNo, () => undefined);
  if (before !== undefined) changes.remove([before.change, workspaceNo]);
  const change = store.next('pages');
  workspaces.put(workspaceNo, { brand, texts, change });
  changes.put([change, workspaceNo], 1);
}

export interface ChangedPages {
  readonly change: number;
  readonly workspaceNo: number;
  readonly pages: WorkspacePages;
}

/** Workspaces whose pages have changed after a change, in the order of their last changes. Damaged records are left out. */
export function* pagesChangedAfter(
  { workspaces, changes }: ReturnType<typeof openPageTables>,
  change: number,
): Generator<ChangedPages> {
  for (const [number, workspaceNo] of changes.keys({ start: [change + 1, 0] })) {
    const stored = workspaces.get(workspaceNo, () => undefined);
    if (stored === undefined) continue;
    const { brand, texts } = stored;
    yield { change: number, workspaceNo, pages: { brand, texts } };
  }
}
