/** What a service has not counted or not delivered yet. */
import { statSync } from 'node:fs';
import { openDataFolder } from '../../src/engine/data-folder.ts';
import {
  journalFolder,
  listJournals,
  listSegments,
  segmentFile,
} from '../../src/scans/journal/segments.ts';
import { readMetrics, type ServiceProcess } from '../support/process.ts';

/** After an orderly end no scan is left in a file: what is counted has left the disk. @returns each file that has some */
export function leftInJournals(dataDir: string): string[] {
  const left: string[] = [];
  const root = openDataFolder(dataDir).journalRoot;
  for (const journal of listJournals(root)) {
    const folder = journalFolder(root, journal);
    for (const start of listSegments(folder)) {
      const { size } = statSync(segmentFile(folder, start));
      if (size > 0) left.push(`journal ${journal} has ${size} bytes at ${start}`);
    }
  }
  return left;
}

/** Events and blocks of scans without deliveries, and deliveries that wait. */
export async function undelivered({ apiUrl }: Pick<ServiceProcess, 'apiUrl'>): Promise<number> {
  const text = await readMetrics(apiUrl);
  const figures = [
    ...text.matchAll(/^quietzone_webhook_outbox_lag\{.*\} (\d+)/gm),
    ...text.matchAll(/^quietzone_webhook_deliveries\{.*"pending".*\} (\d+)/gm),
  ];
  if (figures.length < 3) throw new Error(`Cannot read what waits: ${text}`);
  return figures.reduce((sum, [, figure]) => sum + Number(figure), 0);
}
