/**
 * Writes scans into a journal of the data folder, one frame each, with the same record as a redirect thread. The next
 * start counts them like scans after a crash.
 */
import type { Config } from '../../platform/config/config.ts';
import type { DataFolder } from '../../app/folder/data-folder.ts';
import { partitionOf, type QrCodeRecord } from '../../model/code.ts';
import { missedRoutes, routeNumberOf, targetLabel } from '../../model/routing/labels.ts';
import { compileLink } from '../../engine/routes/compile.ts';
import { resolveRoute } from '../../engine/routes/resolve.ts';
import { JournalPositions } from '../../engine/journal/positions.ts';
import { journalFolder, recoverJournal } from '../../engine/journal/segments.ts';
import { JournalWriter, segmentBytesMax } from '../../engine/journal/writer.ts';
import { flagPrefetch, routeFlags, ScanBatch } from '../../engine/journal/record.ts';
import { Agents } from '../../engine/visitor/agents.ts';
import type { DemoScan } from './traffic.ts';

const journal = 0;

/**
 * Only while no service runs on the folder.
 * @param traffic the scans of each day @param codes by slug @param untilMs no later scan is written
 * @returns number of counted scans @throws Error if the disk refuses
 */
export async function journalScans(
  { journalRoot }: DataFolder,
  settings: Config['scans'],
  traffic: Iterable<readonly DemoScan[]>,
  codes: ReadonlyMap<string, QrCodeRecord>,
  untilMs: number,
): Promise<number> {
  const folder = journalFolder(journalRoot, journal);
  const { position } = recoverJournal(folder, 0);
  const place = { segmentBytesMax, folder, journal, position, tails: new JournalPositions() };
  const writer = new JournalWriter({ ...settings, ...place });
  const batch = new ScanBatch();
  const bytes = Buffer.alloc(4);
  const visits = new Map([...codes].map(([slug, code]) => [slug, visitsOf(code)]));
  for (const scans of traffic) {
    for (const scan of scans) {
      const { timeMs, slug, address, agent, referer } = scan;
      if (timeMs > untilMs) break;
      const { no, workspaceNo } = codes.get(slug)!;
      bytes.writeUInt32BE(address);
      const flags = visits.get(slug)!.visit(scan);
      batch.add(partitionOf(no), no, workspaceNo, flags, bytes, agent, referer);
      writer.append(batch.finish(timeMs), 1);
    }
  }
  const { fault, waitingScans, droppedScans } = writer;
  await writer.close();
  if (waitingScans + droppedScans > 0) throw new Error(`Cannot write the journal: ${fault}`);
  return [...visits.values()].reduce((sum, { counted }) => sum + counted(), 0);
}

const agents = new Agents();

/** Resolves a code's target like the API's preview. */
function visitsOf(code: QrCodeRecord) {
  const link = compileLink(code);
  let counted = 0;
  return {
    /** Scans of redirected people. */
    counted: () => counted,
    /** @returns flags of its record */
    visit({ timeMs, address, agent, isPrefetch, country, language }: DemoScan): number {
      const { isPerson, visitorClass } = agents.get(agent);
      const asked = { nowMs: timeMs, ...visitorClass, country, language, query: '' };
      const route = resolveRoute(code, asked, () => counted, link);
      const { reason, variants = [route] } = route;
      const flags = isPrefetch ? flagPrefetch : 0;
      if (reason !== 'target' && reason !== 'rule' && reason !== 'split') {
        return flags | routeFlags(missedRoutes[reason]);
      }
      if (isPrefetch || !isPerson) return flags;
      counted += 1;
      // The same variant for all visits; the demo's variants are equally likely.
      const { label } = variants[address % variants.length]!;
      if (label === targetLabel) return flags;
      return routeFlags(routeNumberOf(code.routing!.labels, label));
    },
  };
}
