/**
 * A shard's thread with nothing to do sleeps, and misses nothing: here it never looks by itself, so whatever happens
 * after it has fallen asleep happens because it was woken.
 */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { partitionOf } from '../../../src/model/code.ts';
import { identify } from '../../../src/engine/journal/file-identity.ts';
import { JournalPositions } from '../../../src/engine/journal/positions.ts';
import type {
  ShardCommand,
  ShardMessage,
  ShardRhythm,
  ShardSetup,
} from '../../../src/engine/counting/shard-thread.ts';
import { shipped } from '../../../src/platform/shipped.ts';
import {
  newestSequence,
  readCheckpoints,
  workspaceCounter,
} from '../../../src/store/scans/scans.ts';
import { systemClock } from '../../../src/platform/system-clock.ts';
import { SupervisedThread } from '../../../src/platform/workers/supervised-thread.ts';
import { openFilesIn } from '../../support/leaks.ts';
import { soon } from '../../support/soon.ts';
import { EngineHarness, scanOf } from './engine-harness.ts';

const shards = 2;
const hourMs = 3_600_000;
/** Blocks that a shard may leave to its readers: what another one commits last may come after its own checkpoint. */
const leftMax = 64;

/** The journal and the store of the harness, with shards that are threads. */
class Threads {
  readonly engine = new EngineHarness({ segmentBytesMax: 1_000_000 });
  readonly writer = this.engine.writers[0]!;
  readonly consumed = Array.from({ length: shards }, () => new JournalPositions());
  readonly messages: ShardMessage[][] = Array.from({ length: shards }, () => []);
  readonly threads: ReadonlyArray<SupervisedThread<ShardSetup, ShardCommand, ShardMessage>>;

  constructor(rhythm: ShardRhythm = { figuresMs: hourMs, checkMs: hourMs }) {
    this.threads = Array.from({ length: shards }, (_, shard) => this.#thread(shard, rhythm));
  }

  #thread(shard: number, rhythm: ShardRhythm) {
    const { folder, journalRoot, tails } = this.engine;
    return new SupervisedThread<ShardSetup, ShardCommand, ShardMessage>({
      file: shipped.workerFile('shard'),
      clock: systemClock,
      setup: () => ({
        shard,
        shards,
        gate: new Int32Array(new SharedArrayBuffer(4)).fill(1),
        store: identify(join(folder, 'scans.mdb')),
        journalRoot: identify(journalRoot),
        tails: tails.memory,
        consumed: this.consumed[shard]!.memory,
        visitor: { key: Buffer.alloc(16, 7), geo: {} },
        rhythm,
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
    await vi.waitUntil(() => this.engine.tails.isAwaited, soon);
  }

  scan(codeNo: number, workspaceNo = 1): void {
    this.engine.scan(0, systemClock.now(), [scanOf(codeNo, { workspaceNo })]);
  }

  /** Every shard has counted all that was journaled. */
  async counted(): Promise<void> {
    const positions = () => this.consumed.map((shard) => shard.position(0));
    await expect.poll(positions, soon).toEqual([this.writer.position, this.writer.position]);
    this.engine.store.environment.refresh();
  }

  async close(): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.stop({ kind: 'stop' }, 10_000)));
    await this.engine.close();
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
let running: Threads;
const scansOf = (codeNo: number): number => {
  running.engine.store.environment.refresh();
  return running.engine.queries.analytics.lifetimeScans(codeNo);
};

beforeAll(async () => {
  running = new Threads();
  await running.start();
});
afterAll(async () => {
  await running.close();
});

it('counts a scan after a pause, again and again', async () => {
  const code = newCode();
  for (let scans = 1; scans <= 10; scans++) {
    running.scan(code);
    await running.counted();
    expect(scansOf(code)).toBe(scans);
    await running.asleep();
  }
});

it('saves the sums of a workspace of a shard whose own codes are not scanned', async () => {
  let workspaceNo = 1;
  while (partitionOf(workspaceCounter(workspaceNo)) % shards !== 1) workspaceNo++;
  const partition = partitionOf(workspaceCounter(workspaceNo));
  const code = newCode();
  const before = newestSequence(running.engine.store);
  for (let scans = 0; scans < leftMax + 6; scans++) {
    running.scan(code, workspaceNo);
    await running.counted();
  }
  const saved = (): number => {
    running.engine.store.environment.refresh();
    return readCheckpoints(running.engine.store, 'workspaces')[partition]!;
  };
  expect(newestSequence(running.engine.store)).toBe(before + leftMax + 6);
  await expect.poll(saved, soon).toBeGreaterThan(before + 6);
});

it('removes the numbers of an expired code while it sleeps', async () => {
  const code = newCode();
  running.scan(code);
  await running.counted();
  await running.asleep();
  running.threads[0]!.send({ kind: 'expire', codes: [{ codeNo: code, workspaceNo: 1 }] });
  await expect.poll(() => scansOf(code), soon).toBe(0);
});

it('keeps no ended journal file open', async () => {
  const code = newCode();
  const files = () =>
    openFilesIn(running.engine.folder).filter((name) => name.includes('/journal/'));
  running.scan(code);
  await running.counted();
  running.writer.endSegment();
  await running.writer.sync();
  await running.writer.sync();
  // The writer's next one, which is empty.
  await expect.poll(files, soon).toHaveLength(1);
});

it('counts what is journaled when it is stopped asleep', async () => {
  const code = newCode();
  running.scan(code);
  await Promise.all(running.threads.map((thread) => thread.stop({ kind: 'stop' }, 60_000)));
  expect(scansOf(code)).toBe(1);
  for (const messages of running.messages) expect(messages.at(-1)?.kind).toBe('consumed');
});

it('sends the figures of what happened last before it sleeps on', async () => {
  const code = newCode();
  await running.close();
  running = new Threads({ figuresMs: 300, checkMs: hourMs });
  await running.start();
  const counted = () => {
    const newest = running.messages[0]!.findLast(({ kind }) => kind === 'figures');
    return newest?.kind === 'figures' ? newest.figures.scans + newest.figures.bots : undefined;
  };
  for (let scans = 1; scans <= 3; scans++) {
    running.scan(code);
    await running.counted();
    await expect.poll(counted, soon).toBe(scans);
  }
});
