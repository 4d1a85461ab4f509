/**
 * The files that are appended to: journals of scans, and results of webhook attempts. What their writers have not
 * finished at the end is no damage. A running service ends and deletes them while they are read.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { systemErrorCode } from '../../model/failure.ts';
import { JournalReader } from '../../scans/journal/reader.ts';
import {
  journalFolder,
  listJournals,
  listSegments,
  segmentFile,
  soundEnd,
} from '../../scans/journal/segments.ts';
import { damagedLines, resultFiles } from '../../store/delivery/result-journal.ts';
import type { DataFolder } from '../data-folder.ts';
import type { Findings } from './findings.ts';
import type { Pause } from './pause.ts';

const pieceBytes = 1_048_576;
/** A line that is being written looks damaged, once. */
const readsMax = 3;
const kind = 'damaged frames';
const journalRemedy = 'the next start counts what is sound and logs what is lost: nothing to do';
const resultRemedy = 'the next start sends these deliveries again: nothing to do';

export async function verifyJournals(
  { journalRoot }: Pick<DataFolder, 'journalRoot'>,
  findings: Findings,
  pause: Pause,
): Promise<void> {
  if (!existsSync(journalRoot)) return;
  for (const journal of listJournals(journalRoot)) {
    const folder = journalFolder(journalRoot, journal);
    const reader = new JournalReader(folder, pieceBytes);
    try {
      for (const { start, end } of segmentsOf(folder)) {
        for (let at = start; at < end;) {
          const next = reader.read(at, end, () => undefined);
          await pause(next - at);
          if (next === at) break;
          at = next;
        }
      }
    } catch (error) {
      // Counted and deleted since it was listed.
      if (systemErrorCode(error) !== 'ENOENT') throw error;
    } finally {
      reader.close();
    }
    const { damagedScans, damagedBytes } = reader;
    if (damagedScans + damagedBytes === 0) continue;
    const text = `${damagedScans} scans in damaged frames, and ${damagedBytes} bytes of no frame`;
    findings.add(`journal/${journal}`, kind, text, journalRemedy);
  }
}

/** What each segment holds: of the newest, up to its last sound frame. */
function segmentsOf(folder: string): Array<{ start: number; end: number }> {
  const starts = listSegments(folder);
  return starts.map((start, index) => {
    const file = segmentFile(folder, start);
    const next = starts[index + 1];
    // What a refused write has left after its segment's end was written again in the next one.
    const end = next === undefined ? start + soundEnd(file) : Math.min(next, start + sizeOf(file));
    return { start, end };
  });
}

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

export async function verifyResults(
  { deliveryFile }: Pick<DataFolder, 'deliveryFile'>,
  findings: Findings,
  pause: Pause,
): Promise<void> {
  for (const file of resultFiles(deliveryFile)) {
    let damaged = 0;
    for (let read = 0; read < readsMax; read++) {
      damaged = existsSync(file) ? damagedLines(readFileSync(file, 'utf8')) : 0;
      if (damaged === 0) break;
      await pause(0);
    }
    if (damaged > 0) findings.add(basename(file), kind, `${damaged} damaged lines`, resultRemedy);
  }
}
