/** The link table under readers in real threads: nothing torn, nothing stale, every limit exact. */
import { Worker } from 'node:worker_threads';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { keepScansLeft, type LinkTableMemory } from '../../../src/engine/links/layout.ts';
import type { LinkWriter } from '../../../src/engine/links/writer.ts';
import type { ReaderReport, ReaderTask } from './reader.worker.ts';
import { createRandom, expiryOf, keyText, openTable, taggedLink } from './table.ts';

const readersMax = 2;
const runMs = 800;
/** Less than half of what quarantine holds: an entry here has 64 bytes or more, and at most one counter cell beside it. */
const waitingBytesMax = 2 ** 20;
const untilLater = new Int32Array(new SharedArrayBuffer(4));

/**
 * A reader that the machine stops within a cycle holds back all that is freed meanwhile, and the writer refuses changes
 * when quarantine is full: here it waits until the reader goes on, for as long as that takes.
 */
function waitForReaders(writer: LinkWriter): void {
  while (writer.bytesWaiting > waitingBytesMax) {
    Atomics.wait(untilLater, 0, 0, 1);
    writer.free();
  }
}

async function startReaders(mode: ReaderTask['mode'], memory: LinkTableMemory, keys: number) {
  const finished = new SharedArrayBuffer(keys * 4);
  const stop = new SharedArrayBuffer(4);
  const seen = new SharedArrayBuffer(readersMax * 8);
  const workers = Array.from({ length: readersMax }, (_, readerIndex) => {
    const workerData: ReaderTask = { mode, memory, readerIndex, finished, stop, seen };
    return new Worker(new URL('./reader.worker.ts', import.meta.url), { workerData });
  });
  await Promise.all(workers.map((worker) => once(worker, 'message')));
  const reports = Promise.all(
    workers.map(async (worker): Promise<ReaderReport> => {
      const [report] = await once(worker, 'message');
      return report;
    }),
  );
  return {
    finished: new Int32Array(finished),
    hasSeenEnough: (): boolean =>
      new Int32Array(seen).every((count, at) => count > (at % 2 === 0 ? 1_000 : 10)),
    async end(): Promise<ReaderReport[]> {
      Atomics.store(new Int32Array(stop), 0, 1);
      const result = await reports;
      await Promise.all(workers.map((worker) => worker.terminate()));
      return result;
    },
  };
}

describe('LinkReader beside LinkWriter', () => {
  it('never sees a torn, wrong, stale or reused entry while keys come, change and go', async () => {
    const keys = 20_000;
    const { memory, writer } = openTable({ arenaBytesMax: 2 ** 28 });
    const readers = await startReaders('verify', memory, keys);
    const random = createRandom(7);
    const versions = new Int32Array(keys);
    const end = performance.now() + runMs;
    let known = 1;
    let changes = 0;
    while (performance.now() < end || changes <= 10_000 || !readers.hasSeenEnough()) {
      waitForReaders(writer);
      for (let i = 0; i < 20; i += 1) {
        const isNew = known < keys && random(20) === 0;
        // Mostly a few hot keys, so that memory comes round quickly.
        const key = isNew ? known : random(random(4) === 0 ? known : Math.min(known, 64));
        if (isNew) known += 1;
        if (!isNew && random(8) === 0) {
          writer.delete(keyText(key));
          if (versions[key] !== 0) Atomics.store(readers.finished, key, versions[key]! * 2 + 1);
          else put(key);
        } else {
          put(key);
        }
        changes += 1;
      }
    }
    const reports = await readers.end();
    for (const report of reports) {
      expect(report.fault).toBe('');
      expect(report.found).toBeGreaterThan(1_000);
      expect(report.deleted).toBeGreaterThan(10);
    }
    expect(changes).toBeGreaterThan(10_000);
    expect(writer.bytesLost).toBe(0);
    writer.free();
    expect(writer.bytesWaiting).toBe(0);

    function put(key: number): void {
      const version = versions[key]! + 1;
      versions[key] = version;
      const scansLeft = version % 4 === 0 ? version : -1;
      writer.put(taggedLink(key, version, { scansLeft, expiresAtMs: expiryOf(version) }));
      Atomics.store(readers.finished, key, version * 2);
    }
  });

  it('grants exactly as many scans as the limits allow while codes are re-targeted and limits change', async () => {
    const keys = 8;
    const { memory, writer } = openTable({ arenaBytesMax: 2 ** 28, linksExpected: keys });
    const limits = Array.from({ length: keys }, (_, key) => 20_000 + key);
    limits.forEach((limit, key) => put(key, 1, limit));
    const readers = await startReaders('take', memory, keys);
    const random = createRandom(11);
    const end = performance.now() + runMs;
    const isTaken = () => limits.every((_, key) => writer.scansLeft(keyText(key)) === 0);
    for (let version = 2; performance.now() < end || !isTaken(); version += 1) {
      waitForReaders(writer);
      const key = random(keys);
      put(key, version, keepScansLeft);
      if (version % 64 === 0) {
        writer.addScans(keyText(key), 3);
        limits[key]! += 3;
      }
    }
    const [first, second] = await readers.end();
    expect([first?.fault, second?.fault]).toEqual(['', '']);
    limits.forEach((limit, key) => {
      const taken = (first?.taken[key] ?? 0) + (second?.taken[key] ?? 0);
      expect(taken + (writer.scansLeft(keyText(key)) ?? -1)).toBe(limit);
      expect(taken).toBeGreaterThan(20_000);
    });

    function put(key: number, version: number, scansLeft: number): void {
      writer.put(taggedLink(key, version, { scansLeft }));
    }
  });
});
