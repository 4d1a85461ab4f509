/** The stores of a service that has ended, read through the store itself, so that no API hides a difference. */
import { statSync } from 'node:fs';
import { openDataFolder } from '../../src/app/folder/data-folder.ts';
import {
  journalFolder,
  listJournals,
  listSegments,
  segmentFile,
} from '../../src/engine/journal/segments.ts';
import { openScanQueries, type ScanQueries } from '../../src/engine/analytics/queries.ts';
import { unpackCode } from '../../src/store/management/code-codec.ts';
import { type Management, openManagement } from '../../src/store/management/management.ts';
import { openScanStore } from '../../src/store/scans/scans.ts';

const eventsPerPage = 5_000;

export type Stores = ReturnType<typeof readStores>;

function readStores(management: Management, { analytics, events }: ScanQueries) {
  const codes = [...management.codes.range({})].map(({ key, value }) => unpackCode(key, value));
  /** The qr.scanned events of a workspace. */
  function* eventsOf(workspaceNo: number) {
    let before: string | undefined;
    do {
      const page = events.page(workspaceNo, before, eventsPerPage);
      yield* page.data;
      ({ before } = page);
    } while (before !== undefined);
  }
  return { management, analytics, codes, eventsOf };
}

export async function withStores<T>(
  dataDir: string,
  work: (stores: Stores) => Promise<T> | T,
): Promise<T> {
  const folder = openDataFolder(dataDir);
  const management = openManagement(folder.managementFile);
  const scans = openScanStore(folder.scansFile);
  const queries = openScanQueries(scans, (codeNo) => {
    const packed = management.codes.get(codeNo);
    return packed && unpackCode(codeNo, packed);
  });
  try {
    return await work(readStores(management, queries));
  } finally {
    await scans.environment.close();
    await management.close();
  }
}

/** After an orderly end no scan is left in a file: what is counted has left the disk. @returns each file that has some */
export function leftInJournals(dataDir: string): string[] {
  const root = openDataFolder(dataDir).journalRoot;
  return listJournals(root).flatMap((journal) => {
    const folder = journalFolder(root, journal);
    return [...listSegments(folder)]
      .map((start) => ({ start, bytes: statSync(segmentFile(folder, start)).size }))
      .filter(({ bytes }) => bytes > 0)
      .map(({ start, bytes }) => `journal ${journal} has ${bytes} bytes at ${start}`);
  });
}
