/**
 * Scans into a journal of the data folder, one frame each as a quiet redirect thread writes them, at the times at which they
 * were made. The shards of the next start count them as they count what a crash has left.
 */
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { Config } from '../../config.ts';
import type { DataFolder } from '../../engine/data-folder.ts';
import { partitionOf } from '../../model/code.ts';
import { JournalPositions } from '../../scans/journal/positions.ts';
import { journalFolder, recoverJournal } from '../../scans/journal/segments.ts';
import { JournalWriter, segmentBytesMax } from '../../scans/journal/writer.ts';
import { ScanBatch } from '../../scans/record.ts';
import { addressBytes } from './content/places.ts';
import type { DemoDays } from './demo-days.ts';
import type { DemoCode } from './outcome.ts';
import type { DemoScan, Traffic } from './traffic.ts';

export interface Journaled {
  /** Those that count. */
  readonly scans: number;
  /** Bots, prefetches, and people who came in vain. */
  readonly others: number;
}

export interface JournalingOptions {
  readonly folder: DataFolder;
  readonly settings: Config['scans'];
  readonly traffic: Traffic;
  readonly days: DemoDays;
  /** Nothing is scanned later. */
  readonly untilMs: number;
  /** By the slug of their print. */
  readonly codes: ReadonlyMap<string, DemoCode>;
  readonly onDay: (done: number) => void;
}

const journal = 0;

/** Only where no service runs on the folder. @throws Error when the disk refuses */
export async function journalScans(options: JournalingOptions): Promise<Journaled> {
  const { folder, settings, traffic, days, untilMs, codes, onDay } = options;
  const path = journalFolder(folder.journalRoot, journal);
  const { position } = recoverJournal(path, 0);
  const tails = new JournalPositions();
  const writer = new JournalWriter({
    ...settings,
    segmentBytesMax,
    folder: path,
    journal,
    position,
    tails,
  });
  const batch = new ScanBatch();
  let scans = 0;
  let all = 0;
  for (let day = days.first; day <= days.today; day += 1) {
    for (const scan of traffic.ofDay(day)) {
      if (scan.timeMs > untilMs) break;
      const code = codes.get(scan.print.slug);
      const outcome = code?.take(scan);
      if (code === undefined || outcome === undefined) continue;
      add(batch, code, outcome.flags, scan);
      writer.append(batch.finish(scan.timeMs), 1);
      all += 1;
      if (outcome.isScan) scans += 1;
    }
    onDay(day - days.first + 1);
    await yieldToOthers();
  }
  const { fault, waitingScans, droppedScans } = writer;
  await writer.close();
  if (waitingScans + droppedScans > 0) throw new Error(`Cannot write the journal: ${fault}`);
  return { scans, others: all - scans };
}

function add(batch: ScanBatch, { record }: DemoCode, flags: number, scan: DemoScan): void {
  const { no, workspaceNo } = record;
  const { address, agent } = scan.visitor;
  const bytes = addressBytes(address);
  batch.add(partitionOf(no), no, workspaceNo, flags, bytes, agent, scan.referer);
}
