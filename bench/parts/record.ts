/**
 * What does it cost to write a scan down, and to read it back?
 *
 * Writing is on the path of every redirect: encoding into the cycle's batch, then the checksum of the
 * whole frame. Reading is a shard's: every shard reads every record, and decodes its own.
 */
import { crc32 } from 'node:zlib';
import { Bench } from 'tinybench';
import {
  isFrameHeader,
  isFramePayloadSound,
  RecordCursor,
  ScanBatch,
} from '../../src/engine/journal/record.ts';

export const question = 'What does a scan record cost to encode, to seal and to decode?';

export interface Row {
  readonly name: string;
  readonly nanosecondsPerOperation: number;
  readonly note?: string;
}

const scansPerFrame = 64;
const sampleAddress = Uint8Array.of(203, 0, 113, 9);
const sampleAgent =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1';
const sampleReferer = 'https://www.example.org/';

const batch = new ScanBatch();
const cursor = new RecordCursor();
const address = new Uint8Array(16);

function fill(): void {
  for (let i = 0; i < scansPerFrame; i++)
    batch.add(i, i + 1, 1, 0, sampleAddress, sampleAgent, sampleReferer);
}

/** Sum of what a shard takes from its own records; `own` of 1 takes all. */
function readFrame(frame: Buffer, own: number): number {
  let sum = 0;
  if (!isFrameHeader(frame, 0) || !isFramePayloadSound(frame, 0)) return -1;
  cursor.open(frame, 0);
  while (cursor.next()) {
    if (cursor.partition % own !== 0) continue;
    cursor.copyAddress(address);
    sum += cursor.codeNo + cursor.agent.length + cursor.referer.length + address[15]!;
  }
  return sum;
}

function check(frame: Buffer): void {
  const codes = (scansPerFrame * (scansPerFrame + 1)) / 2;
  const wanted = codes + scansPerFrame * (sampleAgent.length + sampleReferer.length + 9);
  const found = readFrame(frame, 1);
  if (found !== wanted) throw new Error(`Wrong answer: ${found}, expected ${wanted}`);
}

/** The median of the runs, per scan. */
export async function run(options: { readonly quick: boolean }): Promise<Row[]> {
  fill();
  const frame = Buffer.from(batch.finish(1));
  check(frame);
  const payload = frame.subarray(32);
  const bench = new Bench(options.quick ? { time: 20, warmupTime: 5 } : { time: 1_000 });
  let sink = 0;
  bench.add('encode and seal', () => {
    fill();
    sink += batch.finish(1).length;
  });
  bench.add('of this, checksum', () => void (sink += crc32(payload)));
  bench.add('check and decode all', () => void (sink += readFrame(frame, 1)));
  bench.add('check and decode one in four', () => void (sink += readFrame(frame, 4)));
  await bench.run();
  if (sink === 0) throw new Error('Wrong answer: nothing was done');
  return bench.tasks.map(({ name, result }): Row => {
    if (result.state !== 'completed') throw new Error(`Cannot measure ${name}: ${result.state}`);
    const note = `${scansPerFrame} scans a frame of ${frame.length} bytes`;
    return { name, nanosecondsPerOperation: (result.latency.p50 * 1e6) / scansPerFrame, note };
  });
}
