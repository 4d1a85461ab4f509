/** Nodes of a cluster are restarted one by one. */
import { DataFolderError } from '../engine/data-folder.ts';

/** @throws DataFolderError */
export function assertNoTakeover(takeover: true | undefined): void {
  if (takeover === undefined) return;
  throw new DataFolderError(
    'Cannot take over: a node of a cluster stops and starts alone, and the others serve meanwhile',
  );
}
