/** The parts of a data folder against each other, as findings: what a start would refuse, or report as lost. */
import { existsSync } from 'node:fs';
import {
  journalFolder,
  listSegments,
  segmentFile,
  soundEnd,
} from '../../scans/journal/segments.ts';
import { highestWatermark, lowestWatermarks, openScanStore } from '../../store/scans/scans.ts';
import type { DataFolder } from '../data-folder.ts';
import { folderRemedy, inspectFolder } from '../installation/installation.ts';
import { type Finding, restoreRemedy } from './findings.ts';

const otherRemedy = `put back what belongs there, or ${folderRemedy}`;

/** @param found damaged files are not named again @throws DataFolderError where the disk is too full to open stores */
export async function partFindings(
  folder: DataFolder,
  found: readonly Finding[],
): Promise<Finding[]> {
  const { faults, kind } = await inspectFolder(folder);
  const known = new Set(found.map(({ file }) => file));
  // Data of an older release may have no segment of a journal that is counted.
  if (kind === 'marked' && faults.length === 0 && !known.has('scans.mdb')) {
    return await lostSegments(folder);
  }
  return faults
    .filter((fault) => !(known.has(fault.part) && fault.isDamaged))
    .map((fault) => ({
      file: fault.part,
      text: fault.found,
      remedy: fault.remedy === 'restore' ? restoreRemedy : otherRemedy,
    }));
}

/** Journals that end below what is counted of them. */
async function lostSegments({ scansFile, journalRoot }: DataFolder): Promise<Finding[]> {
  const scans = openScanStore(scansFile, 'read');
  try {
    return [...lowestWatermarks(scans).keys()].flatMap((journal) => {
      // Read first: a running service goes on writing.
      const countedTo = highestWatermark(scans, journal);
      const end = endOf(journalFolder(journalRoot, journal));
      if (end >= countedTo) return [];
      const text = `its newest segment is missing: it ends at ${end}, ${countedTo} was counted`;
      const remedy = 'scans in it that were not counted are lost; the next start goes on behind it';
      return [{ file: `journal/${journal}`, text, remedy }];
    });
  } finally {
    await scans.environment.close();
  }
}

function endOf(folder: string): number {
  const newest = existsSync(folder) ? listSegments(folder).at(-1) : undefined;
  return newest === undefined ? 0 : newest + soundEnd(segmentFile(folder, newest));
}
