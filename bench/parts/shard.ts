/**
 * What does a scan cost the shard, from the journal to the numbers in the store?
 *
 * A real shard over a real journal and a real store, in windows of 3,000 scans as 25,000 scans/s make them:
 * 8,192 visitors with 200 user agents, a referer on every fourth, 10,000 codes of four workspaces drawn evenly.
 * The CPU time of the whole process counts: garbage collection and LMDB's own thread are part of the price.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { partitionOf } from '../../src/model/code.ts';
import { identify } from '../../src/engine/journal/file-identity.ts';
import { JournalPositions } from '../../src/engine/journal/positions.ts';
import { beginSegment, journalFolder } from '../../src/engine/journal/segments.ts';
import { JournalWriter } from '../../src/engine/journal/writer.ts';
import { ScanBatch } from '../../src/engine/journal/record.ts';
import { Shard } from '../../src/engine/counting/shard.ts';
import { Summaries } from '../../src/engine/counting/summaries.ts';
import { openBundledGeo } from '../../test/engine/visitor/geo-data.ts';
import { Visitor } from '../../src/engine/visitor/visitor.ts';
import { openScanStore, type ScanStore } from '../../src/store/scans/scans.ts';
import { systemClock } from '../../src/platform/system-clock.ts';
import { createRequests, requestCount } from '../loads/requests.ts';
import type { PartRow } from '../parts.ts';
import { createRandom } from '../random.ts';

export const question = 'What does a scan cost the shard, from the journal to the store?';

const codes = 10_000;
const workspaces = 4;
const scansPerWindow = 3_000;
const scansPerFrame = 20;
const windowMs = 120;
const startMs = 20_730 * 86_400_000 + 8 * 3_600_000;
const namesMax = 100;

interface Journal {
  readonly root: string;
  /** Where each window ends. */
  readonly ends: readonly number[];
}

async function writeJournal(root: string, windows: number): Promise<Journal> {
  const folder = journalFolder(root, 0);
  mkdirSync(folder, { recursive: true });
  beginSegment(folder, 0);
  const writer = new JournalWriter({
    folder,
    journal: 0,
    position: 0,
    segmentBytesMax: 67_108_864,
    segmentMsMax: Infinity,
    backlogBytesMax: 1_048_576,
    tails: new JournalPositions(),
  });
  const visitors = createRequests('localhost', ['/'], requestCount).map(({ headers }) => ({
    address: Uint8Array.from(headers['x-forwarded-for']!.split('.'), Number),
    agent: headers['user-agent']!,
    referer: headers['referer'] ?? '',
  }));
  const batch = new ScanBatch();
  const random = createRandom(0x2545f491);
  const ends: number[] = [];
  for (let window = 0; window < windows; window++) {
    for (let left = scansPerWindow; left > 0; left -= scansPerFrame) {
      for (let scan = 0; scan < scansPerFrame; scan++) {
        const { address, agent, referer } = visitors[random() % requestCount]!;
        const codeNo = 1 + (random() % codes);
        const workspaceNo = 1 + (codeNo % workspaces);
        batch.add(partitionOf(codeNo), codeNo, workspaceNo, 0, address, agent, referer);
      }
      writer.append(batch.finish(startMs + window * windowMs), scansPerFrame);
    }
    ends.push(writer.position);
  }
  await writer.close();
  return { root, ends };
}

function openShard(store: ScanStore, { root }: Journal, tails: JournalPositions): Shard {
  return new Shard({
    shard: 0,
    shards: 1,
    journalRoot: identify(root),
    store,
    tails,
    consumed: new JournalPositions(),
    visitor: new Visitor({ key: Buffer.alloc(16, 7), geo: openBundledGeo().data }),
    clock: systemClock,
    windowBytesMax: 8_388_608,
    actorsMax: 200_000,
    rawRetentionDays: 90,
    deliveredBlock: Number.MAX_SAFE_INTEGER,
  });
}

function check(store: ScanStore, scans: number): void {
  const summaries = new Summaries(store, namesMax);
  let total = 0;
  for (let codeNo = 1; codeNo <= codes; codeNo++) total += summaries.total(codeNo);
  if (total !== scans) throw new Error(`Wrong answer: ${total} scans counted, expected ${scans}`);
}

/** Counts the windows from `from` on. @returns milliseconds of CPU, and those of wall time in checkpoints */
function count(
  shard: Shard,
  tails: JournalPositions,
  ends: readonly number[],
): { readonly cpuMs: number; readonly checkpointsMs: number } {
  const before = process.cpuUsage();
  let checkpointsMs = 0;
  let known = shard.figures().checkpointMs;
  for (const end of ends) {
    tails.publish(0, end);
    shard.cycle();
    const { checkpointMs } = shard.figures();
    if (checkpointMs !== known) checkpointsMs += checkpointMs;
    known = checkpointMs;
  }
  shard.checkpoint();
  checkpointsMs += shard.figures().checkpointMs;
  const { user, system } = process.cpuUsage(before);
  return { cpuMs: (user + system) / 1e3, checkpointsMs };
}

/** The first third warms up: code is compiled, every code and visitor has been seen. */
export async function run(options: { readonly quick: boolean }): Promise<PartRow[]> {
  const windows = options.quick ? 3 : 192;
  const warmUp = windows / 3;
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-bench-'));
  const journal = await writeJournal(join(folder, 'journal'), windows);
  const store = openScanStore(join(folder, 'scans.mdb'), 'create');
  const tails = new JournalPositions();
  const shard = openShard(store, journal, tails);
  count(shard, tails, journal.ends.slice(0, warmUp));
  const { cpuMs, checkpointsMs } = count(shard, tails, journal.ends.slice(warmUp));
  shard.close();
  check(store, windows * scansPerWindow);
  await store.environment.close();
  rmSync(folder, { recursive: true });
  const perScan = (ms: number): number => (ms * 1e6) / ((windows - warmUp) * scansPerWindow);
  const note = `${windows - warmUp} windows of ${scansPerWindow} scans over ${codes} codes`;
  return [
    { name: 'CPU', nanosecondsPerOperation: perScan(cpuMs), note },
    { name: 'of this, checkpoints', nanosecondsPerOperation: perScan(checkpointsMs) },
  ];
}
