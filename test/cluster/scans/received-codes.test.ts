/** A core looks up whose a code is in its own store of management, also one that was made while it runs. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ReceivedJournals } from '../../../src/cluster/scans/received-journals.ts';
import { encodeScanMessage } from '../../../src/cluster/scans/scan-messages.ts';
import { partitionOf, type QrCodeRecord } from '../../../src/model/code.ts';
import { identify } from '../../../src/scans/journal/file-identity.ts';
import { JournalPositions } from '../../../src/scans/journal/positions.ts';
import { ScanBatch } from '../../../src/scans/record.ts';
import { openManagement } from '../../../src/store/management/management.ts';
import { packCode } from '../../../src/store/management/code-codec.ts';
import { openScanStore } from '../../../src/store/scans/scans.ts';
import { systemTimers } from '../../../src/system-clock.ts';
import { soon } from '../../support/soon.ts';
import { MemoryLog } from '../log/memory-log.ts';
import { MemoryStream } from '../log/memory-stream.ts';

const code: QrCodeRecord = {
  id: 'qr_00000000000000000005',
  no: 5,
  workspaceId: 'ws_00000000000000000001',
  workspaceNo: 1,
  type: 'url',
  target: 'https://example.com/',
  dynamic: true,
  tags: [],
  metadata: {},
  createdAtMs: 0,
  updatedAtMs: 0,
  createdBy: 'usr_00000000000000000001',
};

function frame(workspaceNo: number): Buffer {
  const batch = new ScanBatch();
  batch.add(partitionOf(code.no), code.no, workspaceNo, 0, Uint8Array.of(192, 0, 2, 1), '', '');
  // The memory log takes every entry at 0.
  return Buffer.from(batch.finish(0));
}

it('refuses the scans of a code that is of another workspace', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'qz-received-'));
  mkdirSync(join(folder, 'journals'));
  const management = openManagement(join(folder, 'management.mdb'), 'create');
  const scans = openScanStore(join(folder, 'scans.mdb'), 'create');
  const stream = new MemoryStream();
  const refused: Array<[journal: number, frames: number]> = [];
  const tails = new JournalPositions();
  const received = new ReceivedJournals({
    log: new MemoryLog({ stream }),
    timers: systemTimers,
    store: identify(join(folder, 'scans.mdb')),
    codes: identify(join(folder, 'management.mdb')),
    root: identify(join(folder, 'journals')),
    tails,
    segmentMsMax: 60_000,
    isOwn: () => false,
    isOwner: () => true,
    onRefused: (journal, frames) => void refused.push([journal, frames]),
    rewind: () => undefined,
    onMissed: () => undefined,
  });
  onTestFinished(async () => {
    await received.close();
    await management.close();
    await scans.environment.close();
    rmSync(folder, { recursive: true });
  });
  received.receiver.start();
  await management.environment.transaction(() => management.codes.put(5, packCode(code)));
  const send = async (workspaceNo: number): Promise<void> => {
    const from = tails.position(1);
    const bytes = frame(workspaceNo);
    stream.append(encodeScanMessage({ journal: 1, run: 1, after: from, from, bytes }));
    await expect.poll(() => tails.position(1), soon).toBe(from + bytes.length);
  };
  await send(1);
  expect(refused).toEqual([]);
  await send(2);
  expect(refused).toEqual([[1, 1]]);
});
