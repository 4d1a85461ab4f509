/** The parts of a data folder against each other, as findings: what a start would refuse. */
import type { DataFolder } from '../data-folder.ts';
import { folderRemedy, inspectFolder } from '../installation/installation.ts';
import { type Finding, restoreRemedy } from './findings.ts';

const otherRemedy = `put back what belongs there, or ${folderRemedy}`;

/** @param found damaged files are not named again @throws DataFolderError where the disk is too full to open stores */
export async function partFindings(
  folder: DataFolder,
  found: readonly Finding[],
): Promise<Finding[]> {
  const { faults } = await inspectFolder(folder);
  const known = new Set(found.map(({ file }) => file));
  return faults
    .filter((fault) => !(known.has(fault.part) && fault.isDamaged))
    .map((fault) => ({
      file: fault.part,
      text: fault.found,
      remedy: fault.remedy === 'restore' ? restoreRemedy : otherRemedy,
    }));
}
