/**
 * A shard's thread with nothing to do sleeps, and misses nothing: here it never looks by itself, so whatever happens
 * after it has fallen asleep happens because it was woken.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { partitionOf } from '../../../src/model/code.ts';
import { identify } from '../../../src/scans/journal/file-identity.ts';
import { JournalPositions } from '../../../src/scans/journal/positions.ts';
import { journalFolder } from '../../../src/scans/journal/segments.ts';
import { JournalWriter } from '../../../src/scans/journal/writer.ts';
import { openScanQueries, type ScanQueries } from '../../../src/scans/query/queries.ts';
import { ScanBatch } from '../../../src/scans/record.ts';
import type {
  ShardCommand,
  ShardMessage,
  ShardRhythm,
  ShardSetup,
} from '../../../src/scans/shard-thread.ts';
import { shipped } from '../../../src/shipped.ts';
import {
  newestSequence,
  openScanStore,
  readCheckpoints,
  type ScanStore,
  workspaceCounter,
} from '../../../src/store/scans/scans.ts';
import { systemClock } from '../../../src/system-clock.ts';
import { SupervisedThread } from '../../../src/workers/supervised-thread.ts';
import { openFilesIn } from '../../support/leaks.ts';
import { soon } from '../../support/soon.ts';

const shards = 2;
const hourMs = 3_600_000;
/** Blocks that a shard may leave to its readers: what another one commits last may come after its own checkpoint. */
const leftMax = 64;

class Fixture {
  readonly folder = mkdtempSync(join(tmpdir(), 'quietzone-sleep-'));
  readonly tails = new JournalPositions();
  readonly consumed = Array.from({ length: shards }, () => new JournalPositions());
  readonly messages: ShardMessage[][] = Array.from({ length: shards }, () => []);
  readonly store: ScanStore;
  readonly queries: ScanQueries;
  readonly writer: JournalWriter;
  readonly threads: ReadonlyArray<SupervisedThread<ShardSetup, ShardCommand, ShardMessage>>;
  readonly #rhythm: ShardRhythm;
  readonly #batch = new ScanBatch();

  constructor(rhythm: ShardRhythm = { figuresMs: hourMs, checkMs: hourMs }) {
    this.#rhythm = rhythm;
    this.store = openScanStore(join(this.folder, 'scans.mdb'), 'create');
    this.queries = openScanQueries(this.store, (codeNo) => ({ id: String(codeNo) }));
    mkdirSync(journalFolder(this.#root, 0), { recursive: true });
    this.writer = new JournalWriter({
      folder: journalFolder(this.#root, 0),
      journal: 0,
      position: 0,
      segmentBytesMax: 1_000_000,
      segmentMsMax: 0,
      backlogBytesMax: 1_000_000,
      tails: this.tails,
    });
    this.threads = Array.from({ length: shards }, (_, shard) => this.#thread(shard));
  }

  get #root(): string {
    return join(this.folder, 'journal');
  }

  #thread(shard: number) {
    return new SupervisedThread<ShardSetup, ShardCommand, ShardMessage>({
      file: shipped.workerFile('shard'),
      clock: systemClock,
      setup: () => ({
        shard,
        shards,
        gate: new Int32Array(new SharedArrayBuffer(4)).fill(1),
        store: identify(join(this.folder, 'scans.mdb')),
        journalRoot: identify(this.#root),
        tails: this.tails.memory,
        consumed: this.consumed[shard]!.memory,
        visitor: { key: Buffer.alloc(16, 7), geo: {} },
        rhythm: this.#rhythm,
        windowBytesMax: 1_000_000,
        actorsMax: 1_000,
        rawRetentionDays: 1,
        deliveredBlock: Number.MAX_SAFE_INTEGER,
      }),
      onMessage: (message) => this.messages[shard]!.push(message),
      onDeath: () => undefined,
    });
  }

  async start(): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.start()));
    await this.asleep();
  }

  /** Threads have nothing to do, and at least one sleeps; one that does not would see what comes by itself. */
  async asleep(): Promise<void> {
    await vi.waitUntil(() => this.tails.isAwaited, soon);
  }

  scan(codeNo: number, workspaceNo = 1): void {
    this.#batch.add(partitionOf(codeNo), codeNo, workspaceNo, 0, Buffer.alloc(16), 'Firefox', '');
    this.writer.append(this.#batch.finish(systemClock.now()), 1);
  }

  /** Every shard has counted all that was journaled. */
  async counted(): Promise<void> {
    const positions = () => this.consumed.map((shard) => shard.position(0));
    await expect.poll(positions, soon).toEqual([this.writer.position, this.writer.position]);
    this.store.environment.refresh();
  }

  async close(): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.stop({ kind: 'stop' }, 10_000)));
    await this.writer.close();
    await this.store.environment.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

let newest = 0;
/** Another code of the first shard each time. */
function newCode(): number {
  do newest++;
  while (partitionOf(newest) % shards !== 0);
  return newest;
}

/** Of all tests but the last: each has a code of its own. */
let engine: Fixture;
const scansOf = (codeNo: number): number => {
  engine.store.environment.refresh();
  return engine.queries.analytics.lifetimeScans(codeNo);
};

beforeAll(async () => {
  engine = new Fixture();
  await engine.start();
});
afterAll(async () => {
  await engine.close();
});

it('counts a scan after a pause, again and again', async () => {
  const code = newCode();
  for (let scans = 1; scans <= 10; scans++) {
    engine.scan(code);
    await engine.counted();
    expect(scansOf(code)).toBe(scans);
    await engine.asleep();
  }
});

it('saves the sums of a workspace of a shard whose own codes are not scanned', async () => {
  let workspaceNo = 1;
  while (partitionOf(workspaceCounter(workspaceNo)) % shards !== 1) workspaceNo++;
  const partition = partitionOf(workspaceCounter(workspaceNo));
  const code = newCode();
  const before = newestSequence(engine.store);
  for (let scans = 0; scans < leftMax + 6; scans++) {
    engine.scan(code, workspaceNo);
    await engine.counted();
  }
  const saved = (): number => {
    engine.store.environment.refresh();
    return readCheckpoints(engine.store, 'workspaces')[partition]!;
  };
  expect(newestSequence(engine.store)).toBe(before + leftMax + 6);
  await expect.poll(saved, soon).toBeGreaterThan(before + 6);
});

it('removes the numbers of an expired code while it sleeps', async () => {
  const code = newCode();
  engine.scan(code);
  await engine.counted();
  await engine.asleep();
  engine.threads[0]!.send({ kind: 'expire', codes: [{ codeNo: code, workspaceNo: 1 }] });
  await expect.poll(() => scansOf(code), soon).toBe(0);
});

it('keeps no ended journal file open', async () => {
  const code = newCode();
  const files = () => openFilesIn(engine.folder).filter((name) => name.includes('/journal/'));
  engine.scan(code);
  await engine.counted();
  engine.writer.endSegment();
  await engine.writer.sync();
  await engine.writer.sync();
  // The writer's next one, which is empty.
  await expect.poll(files, soon).toHaveLength(1);
});

it('counts what is journaled when it is stopped asleep', async () => {
  const code = newCode();
  engine.scan(code);
  await Promise.all(engine.threads.map((thread) => thread.stop({ kind: 'stop' }, 60_000)));
  expect(scansOf(code)).toBe(1);
  for (const messages of engine.messages) expect(messages.at(-1)?.kind).toBe('consumed');
});

it('sends the figures of what happened last before it sleeps on', async () => {
  const code = newCode();
  await engine.close();
  engine = new Fixture({ figuresMs: 300, checkMs: hourMs });
  await engine.start();
  const counted = () => {
    const newest = engine.messages[0]!.findLast(({ kind }) => kind === 'figures');
    return newest?.kind === 'figures' ? newest.figures.scans + newest.figures.bots : undefined;
  };
  for (let scans = 1; scans <= 3; scans++) {
    engine.scan(code);
    await engine.counted();
    await expect.poll(counted, soon).toBe(scans);
  }
});
