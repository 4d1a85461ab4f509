import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { ReadPositions, takeAsWhole } from '../../../src/cluster/scans/received-positions.ts';
import { dataFolderAt } from '../../../src/engine/data-folder.ts';
import { Journals } from '../../../src/engine/journals.ts';
import { journalFolder, segmentFile } from '../../../src/scans/journal/segments.ts';
import { openScanStore } from '../../../src/store/scans/scans.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { frameOf } from '../../scans/journal-files.ts';
import { StoredBytes } from '../../support/stored-bytes.ts';

const frame = frameOf(0, 1);
const tornBytes = 5;

let folder = dataFolderAt('/');
beforeEach(async () => {
  folder = dataFolderAt(mkdtempSync(join(tmpdir(), 'quietzone-whole-')));
  mkdirSync(folder.journalRoot);
  await openScanStore(folder.scansFile, 'create').environment.close();
});
afterEach(() => rmSync(folder.path, { recursive: true }));

function segment(journal: number, start: number, bytes: Uint8Array): void {
  mkdirSync(journalFolder(folder.journalRoot, journal), { recursive: true });
  appendFileSync(segmentFile(journalFolder(folder.journalRoot, journal), start), bytes);
}

/** Bytes on the disk, by journal. */
const bytesOf = (journal: number): number[] => {
  const path = journalFolder(folder.journalRoot, journal);
  return readdirSync(path).map((name) => statSync(join(path, name)).size);
};

/** As a core does at its start. @returns where each journal continues */
async function recover(journals: readonly number[]): Promise<number[]> {
  const { environment } = openScanStore(folder.scansFile);
  const positions = new ReadPositions(environment);
  const { tails } = new Journals({
    root: folder.journalRoot,
    threads: 1,
    own: [9],
    known: { numbers: () => [], endAtLeast: () => 0 },
    recovery: (journal) => ({ torn: 'kept', atMost: positions.wholeTo(journal) }),
    log: createLog('silent'),
  });
  await environment.close();
  return journals.map((journal) => tails.position(journal));
}

it('a core cuts nothing off the journals of a folder that came to it whole', async () => {
  segment(0, 0, Buffer.concat([frame, frame]));
  segment(0, 2 * frame.length, Buffer.concat([frame, Buffer.alloc(tornBytes)]));
  // All of it is counted.
  segment(3, 1_000, Buffer.alloc(0));
  mkdirSync(journalFolder(folder.journalRoot, 7));
  await takeAsWhole(folder);
  expect(await recover([0, 3, 7])).toEqual([3 * frame.length + tornBytes, 1_000, 0]);
  // What is torn may be whole on another node: it stays, and an empty segment ends it.
  expect(bytesOf(0)).toEqual([2 * frame.length, frame.length + tornBytes, 0]);
});

it('without it they are cut to what this core has received', async () => {
  segment(0, 0, frame);
  expect(await recover([0])).toEqual([0]);
  expect(bytesOf(0)).toEqual([0]);
});

it('how far the log was read stays, and journals that are not here have no tail', async () => {
  segment(0, 0, frame);
  const { environment } = openScanStore(folder.scansFile);
  await new ReadPositions(environment).save({ seq: 12, tails: new Map([[5, 70]]) });
  await environment.close();
  await takeAsWhole(folder);
  await takeAsWhole(folder);
  const again = openScanStore(folder.scansFile).environment;
  const read = new ReadPositions(again).read();
  await again.close();
  expect(read).toEqual({ seq: 12, tails: new Map([[0, frame.length]]) });
});

it('damaged, the log is read from its beginning and no journal is cut', async () => {
  segment(0, 0, frame);
  await takeAsWhole(folder);
  const stored = new StoredBytes(folder.scansFile);
  for (const key of stored.keys('cluster')) stored.flip('cluster', key, 42);
  await stored.close();
  const { environment } = openScanStore(folder.scansFile);
  expect(new ReadPositions(environment).read()).toEqual({ seq: 0, tails: new Map() });
  await environment.close();
  expect(await recover([0])).toEqual([frame.length]);
});
