/**
 * Workspaces' texts and brands for the pages of their codes. They are not in the workspace's record, which every
 * request reads.
 *
 *   workspace_pages   workspaceNo                -> StoredPages
 *   page_changes      [change, workspaceNo]      -> 1: one for each record, by its last change
 *
 * A workspace without texts keeps an empty record: readers of the changes must see it.
 */
import type { WorkspacePages } from '../../model/routing/pages.ts';
import type { StoreEnvironment } from '../environment.ts';

interface StoredPages extends WorkspacePages {
  /** Number of the last change, from the sequence `pages`. */
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

/** Inside a transaction. */
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

interface ChangedPages {
  readonly change: number;
  readonly workspaceNo: number;
  readonly pages: WorkspacePages;
}

/** Workspaces whose pages changed after `change`, in change order, without damaged records. */
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
