/**
 * An edge and a core, each with its thread and its connection to a real broker: the core has the edge's journals byte by
 * byte, whatever dies on the way. A loss of power is in the seeds (simulation/).
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { Marks } from '../../../src/cluster/scans/marks.ts';
import { ReadPositions } from '../../../src/cluster/scans/received-positions.ts';
import { scanStream } from '../../../src/cluster/scans/scan-messages.ts';
import { ScanTransfer } from '../../../src/cluster/scans/scan-transfer.ts';
import { partitionOf } from '../../../src/model/code.ts';
import { identify } from '../../../src/engine/journal/file-identity.ts';
import { JournalPositions } from '../../../src/engine/journal/positions.ts';
import {
  beginSegment,
  journalFolder,
  listSegments,
  recoverJournal,
  segmentFile,
} from '../../../src/engine/journal/segments.ts';
import { JournalWriter } from '../../../src/engine/journal/writer.ts';
import { ScanBatch } from '../../../src/engine/journal/record.ts';
import { openScanStore, type ScanStore } from '../../../src/store/scans/scans.ts';
import { shipped } from '../../../src/platform/shipped.ts';
import { systemClock } from '../../../src/platform/system-clock.ts';
import { createLog } from '../../../src/platform/log.ts';
import { pause } from '../../support/process.ts';
import { soon } from '../../support/soon.ts';
import type { NatsServer } from '../../../config/demo/nats-server.ts';
import { withNatsServer, temporaryBrokers } from '../nats/brokers.ts';

const owners = [
  { journal: 1, node: 'edge', run: 4 },
  { journal: 20, node: 'edge', run: 4 },
  { journal: 3, node: 'core', run: 1 },
];
const file = new URL('./killable-transfer.worker.ts', import.meta.url);
vi.spyOn(shipped, 'workerFile').mockReturnValue(file);

const bounds = { segmentBytesMax: 50_000, segmentMsMax: 60_000, backlogBytesMax: 0 };

/** A frame that cores take. */
function scansNow(codeNo: number, scans: number): Buffer {
  const batch = new ScanBatch();
  const address = Uint8Array.of(192, 0, 2, 1);
  for (let count = 0; count < scans; count++) {
    batch.add(partitionOf(codeNo), codeNo, 1, 0, address, 'x'.repeat(100), '');
  }
  return Buffer.from(batch.finish(Date.now()));
}

/** A machine of the cluster: its journals, and what it knows of others'. */
class Machine {
  readonly #journals: string;
  readonly #scans: string;
  readonly #name: string;
  readonly #urls: readonly string[];
  tails = new JournalPositions();
  store: ScanStore | undefined;
  transfer!: ScanTransfer;
  writers: readonly JournalWriter[] = [];
  #frames = 0;

  constructor(folder: string, name: string, urls: readonly string[]) {
    this.#journals = join(folder, name, 'journals');
    this.#scans = join(folder, name, 'scans.mdb');
    this.#name = name;
    this.#urls = urls;
    mkdirSync(this.#journals, { recursive: true });
    if (name === 'core') this.store = openScanStore(this.#scans, 'create');
  }

  get #own(): readonly number[] {
    return owners.filter(({ node }) => node === this.#name).map(({ journal }) => journal);
  }

  /** As its process starts: journals are recovered before anything else. */
  async start(): Promise<void> {
    this.tails = new JournalPositions();
    const positions = this.store && new ReadPositions(this.store.environment);
    for (const { journal } of owners) {
      const isOwn = this.#own.includes(journal);
      if (!isOwn && positions === undefined) continue;
      const atMost = isOwn ? Infinity : positions!.wholeTo(journal);
      const folder = journalFolder(this.#journals, journal);
      const { position } = recoverJournal(folder, 0, { torn: 'kept', atMost });
      if (position > 0) this.tails.publish(journal, position);
      beginSegment(folder, position);
    }
    this.writers = this.#own.map((journal) => {
      const position = this.tails.position(journal);
      const folder = journalFolder(this.#journals, journal);
      return new JournalWriter({ ...bounds, folder, journal, position, tails: this.tails });
    });
    this.transfer = new ScanTransfer({
      nats: { servers: this.#urls, nodeName: this.#name },
      journals: this.#own,
      run: this.#name === 'edge' ? 4 : 1,
      threads: {
        journals: { root: identify(this.#journals), tails: this.tails },
        folder: { whenInPlace: () => Promise.resolve() },
      },
      marks: new Marks(),
      receive: this.store && {
        store: identify(this.#scans),
        codes: identify(this.#scans),
        replicas: 1,
        segmentMsMax: 60_000,
      },
      owners,
      clock: systemClock,
      log: createLog('silent'),
    });
    await this.transfer.start();
  }

  /** A frame to each of its journals, `rounds` times, or until `isDone`. */
  async write(rounds: number, isDone = (): boolean => false): Promise<void> {
    for (let round = 0; round < rounds && !isDone(); round++) {
      for (const writer of this.writers) {
        writer.append(scansNow(this.#frames++, 1 + (round % 7)), 1);
      }
      await pause(20);
    }
  }

  kill(): void {
    const channel = new BroadcastChannel('kill-transfer');
    channel.postMessage(this.#name);
    channel.close();
  }

  /** All bytes of a journal, in the order of their positions. */
  bytes(journal: number): Buffer {
    const folder = journalFolder(this.#journals, journal);
    const parts: Buffer[] = [];
    let end = 0;
    for (const start of listSegments(folder)) {
      expect(start).toBe(end);
      const bytes = readFileSync(segmentFile(folder, start));
      end += bytes.length;
      parts.push(bytes);
    }
    return Buffer.concat(parts);
  }

  async stop(): Promise<void> {
    await this.transfer.stop();
    for (const writer of this.writers) await writer.close();
  }
}

async function isWhole(server: NatsServer): Promise<void> {
  const { brokers, folder, connect, close } = await temporaryBrokers(server);
  const [broker] = brokers.all;
  await broker!.kill();
  const edge = new Machine(folder, 'edge', brokers.urls);
  const core = new Machine(folder, 'core', brokers.urls);
  try {
    await edge.start();
    await core.start();
    await edge.write(25);
    await expect.poll(() => edge.transfer.figures.backlogBytes, soon).toBeGreaterThan(0);
    const faults = (): string => String(edge.transfer.figures.faults);
    await expect.poll(faults, soon).toContain('Cannot reach NATS');
    broker!.start();
    await brokers.ready();
    await arrives(edge, core);
    let isDone = false;
    const writing = edge.write(Infinity, () => isDone);
    for (const victim of [edge, core, undefined]) {
      const tail = core.tails.position(1);
      await expect.poll(() => core.tails.position(1), soon).toBeGreaterThan(tail);
      victim?.kill();
      if (victim) await expect.poll(() => victim.transfer.restarts, soon).toBe(1);
    }
    isDone = true;
    await writing;
    await arrives(edge, core);
    // As brokers do that have lost their disks.
    const { manager } = await (await connect('operator')).ready(1_000);
    await manager.streams.delete(scanStream);
    await edge.write(25);
    await arrives(edge, core);
    // Its own journal comes back by the log, and is passed over.
    await core.write(10);
    const own = core.bytes(3);
    await expect.poll(() => core.transfer.figures.backlogBytes, soon).toBe(0);
    await expect.poll(() => core.transfer.figures.behind, soon).toBe(0);
    expect(core.bytes(3)).toEqual(own);
    expect(core.transfer.figures).toMatchObject({ faults: [] });
    expect(core.transfer.missedEntries).toBe(0);
  } finally {
    await edge.stop();
    await core.stop();
    await core.store!.environment.close();
    await close();
  }
}

async function arrives(edge: Machine, core: Machine): Promise<void> {
  for (const [at, { position }] of edge.writers.entries()) {
    const journal = [1, 20][at]!;
    await expect.poll(() => core.tails.position(journal), soon).toBe(position);
    expect(core.bytes(journal).equals(edge.bytes(journal))).toBe(true);
  }
  await expect.poll(() => edge.transfer.figures.backlogBytes, soon).toBe(0);
  const isSaved = (): boolean => {
    const { savedSeq, readSeq } = core.transfer.figures;
    return savedSeq > 0 && savedSeq === readSeq;
  };
  await expect.poll(isSaved, soon).toBe(true);
}

await withNatsServer('transfer of scans', (found) => {
  it('a core has the journals of an edge byte by byte, also when their threads die, and brokers are away or lose all', () =>
    isWhole(found));
});
