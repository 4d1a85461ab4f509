/** What an uplink does not send: what a disk does not take, and what cores have already. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { JournalFiles } from '../../../src/cluster/scans/journal-source.ts';
import { readScanMessage } from '../../../src/cluster/scans/scan-messages.ts';
import { type JournalPiece, ScanUplink } from '../../../src/cluster/scans/scan-uplink.ts';
import { frameOf } from '../../scans/journal-files.ts';
import { MemoryLog, MemoryStream } from '../log/memory-log.ts';
import { VirtualTime } from '../simulation/virtual-time.ts';
import { JournalCopies } from './journal-copies.ts';

const time = new VirtualTime();
let stream: MemoryStream;
let copies: JournalCopies;
beforeEach(() => {
  stream = new MemoryStream();
  copies = new JournalCopies();
});
afterEach(() => copies.remove());

function uplinkOf(source: Pick<JournalFiles, 'tail' | 'read'>): ScanUplink {
  const log = new MemoryLog(stream, time.later);
  const timers = { monotonicMs: () => time.nowMs, after: time.later };
  return new ScanUplink({ log, timers, journal: 3, run: 7, source, position: 0 });
}

async function pass(ms: number): Promise<void> {
  time.later(0, () => undefined);
  await time.run(time.nowMs + ms);
}

const sent = (): Array<readonly number[]> =>
  Array.from({ length: stream.last }, (_, at) => {
    const { after, from, bytes } = readScanMessage(stream.at(at + 1))!;
    return [after, from, from + bytes.length];
  });

/** A journal of one frame after the other; a piece is one of them. */
class Frames {
  readonly #frames: JournalPiece[] = [];
  readonly tail = (): number => this.#frames.reduce((sum, { bytes }) => sum + bytes.length, 0);

  add(size: number): void {
    this.#frames.push({ from: this.tail(), bytes: new Uint8Array(size) });
  }

  read(position: number): Promise<JournalPiece | undefined> {
    return Promise.resolve(this.#frames.find(({ from }) => from >= position));
  }
}

it('what cores have had before its process began is not sent again', async () => {
  const frames = new Frames();
  for (const size of [100, 200, 300]) frames.add(size);
  const uplink = uplinkOf(frames);
  uplink.arrived(100);
  uplink.written();
  await pass(1_000);
  expect(sent()).toEqual([
    [100, 100, 300],
    [300, 300, 600],
  ]);
  // Another journal that is here no more: nothing is left out of this one.
  uplink.arrived(5_000);
  frames.add(50);
  uplink.written();
  await pass(1_000);
  expect(sent().slice(2)).toEqual([[600, 600, 650]]);
  uplink.rewind(0);
  await pass(1_000);
  expect(sent()[3]).toEqual([0, 0, 100]);
});

it('what does not reach the disk is not sent: told, and tried again', async () => {
  const writer = copies.writer(0, 1e9);
  writer.append(frameOf(0, 2), 2);
  let fault: Error | undefined = new Error('EIO: i/o error, fdatasync');
  let syncs = 0;
  const source = new JournalFiles(
    copies.edge,
    () => writer.position,
    () => {
      syncs++;
      return fault === undefined ? Promise.resolve() : Promise.reject(fault);
    },
  );
  const uplink = uplinkOf(source);
  uplink.written();
  await pass(500);
  expect([uplink.fault, sent()]).toEqual(['EIO: i/o error, fdatasync', []]);
  expect(syncs).toBeGreaterThan(2);
  fault = undefined;
  await pass(2_000);
  expect([uplink.fault, sent()]).toEqual([undefined, [[0, 0, writer.position]]]);
  await writer.close();
});
