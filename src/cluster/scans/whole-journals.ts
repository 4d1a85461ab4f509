/**
 * Journals of a folder that came here whole: from another core, or from a machine that was alone.
 *
 * At a start a core cuts the journals of other nodes back to where its own receiver had them on the disk (ReadPosition).
 * It has received none of these: without this the scans in them would be cut off, and never counted here.
 */
import {
  journalEnd,
  journalFolder,
  listJournals,
  listSegments,
  openSegment,
  segmentFile,
} from '../../scans/journal/segments.ts';
import { openScanStore } from '../../store/scans/scans.ts';
import { ReadPositions } from './read-position.ts';

/** Of a data folder. */
export interface ScanFiles {
  readonly scansFile: string;
  readonly journalRoot: string;
}

/**
 * From here on every journal of the folder is whole up to its end. How far the log of scans was read stays as the folder
 * says it. No process may write in the folder meanwhile. Resolves when it survives a loss of power.
 */
export async function takeAsWhole({ scansFile, journalRoot }: ScanFiles): Promise<void> {
  const tails = new Map<number, number>();
  for (const journal of listJournals(journalRoot)) {
    tails.set(journal, await syncedEnd(journalFolder(journalRoot, journal)));
  }
  const { environment } = openScanStore(scansFile);
  try {
    const positions = new ReadPositions(environment);
    await positions.save({ seq: positions.read().seq, tails });
  } finally {
    await environment.close();
  }
}

/**
 * Beside a service that writes. What is in a journal here by now survives a loss of power: another machine that has a copy of
 * it never sees these positions with other scans.
 */
export async function syncJournals(journalRoot: string): Promise<void> {
  for (const journal of listJournals(journalRoot)) {
    await syncSegments(journalFolder(journalRoot, journal));
  }
}

/** @returns where a journal ends; all before it is on the disk */
async function syncedEnd(folder: string): Promise<number> {
  await syncSegments(folder);
  return journalEnd(folder);
}

async function syncSegments(folder: string): Promise<void> {
  for (const start of listSegments(folder)) {
    const file = await openSegment(segmentFile(folder, start));
    try {
      await file?.datasync();
    } finally {
      await file?.close();
    }
  }
}
