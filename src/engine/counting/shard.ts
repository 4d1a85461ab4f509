/**
 * A shard: reads every journal, selects its own scans, and turns them into numbers.
 *
 *   window      journals --> records --> visitor --> window --> block + watermarks, ONE transaction
 *   checkpoint  every few seconds: blocks --> actors, code by code --> summaries, days, months + checkpoint,
 *               ONE transaction
 *
 * The watermark commits with the block, the checkpoint with the numbers: whatever crashes in between, each journaled scan
 * counts once. A start reads the scans of a damaged block again. Queries add the blocks since the checkpoint, so numbers are
 * one window old. A failed commit (disk full) is retried with the same block; meanwhile scans wait in the journals.
 */
import type { Clock } from '../../model/clock.ts';
import { partitionCount } from '../../model/code.ts';
import { isMissed } from '../../model/routing/labels.ts';
import { BotReason } from '../../model/scan.ts';
import {
  newestSequence,
  putCheckpoints,
  readCheckpoints,
  type ScanStore,
} from '../../store/scans/scans.ts';
import { ScanBlock } from './block.ts';
import { type CodeActor, DamagedCounterError } from './code-actor.ts';
import { CodeActors } from './code-actors.ts';
import { CodeExpiry } from './code-expiry.ts';
import { type WorkspaceZone, ZoneCuts } from './days/zone-cuts.ts';
import { type JournalConsumer, JournalConsumers } from '../journal/consumers.ts';
import type { FileIdentity } from '../journal/file-identity.ts';
import type { JournalPositions } from '../journal/positions.ts';
import { RecordCursor } from '../journal/record.ts';
import { eachSinceCheckpoint, expireBlocks, missingScans } from './stored-blocks.ts';
import { namesPerDayMax, Summaries } from './summaries.ts';
import type { Visitor } from '../visitor/visitor.ts';
import { setBlockSequence, Window, type Scan } from './window.ts';
import { WorkspaceSums } from './workspace-sums.ts';

/** Blocks between checkpoints, 8 s: queries and recovery count them; a checkpoint costs a page for each changed code. */
const checkpointWindows = 64;
/** Blocks that expire at a checkpoint, by those written between two: retention keeps up and delays no window. */
const expireFactor = 2;

export interface ShardOptions {
  readonly shard: number;
  readonly shards: number;
  readonly journalRoot: FileIdentity;
  readonly store: ScanStore;
  readonly tails: JournalPositions;
  /** How far this shard has counted each journal. */
  readonly consumed: JournalPositions;
  readonly visitor: Visitor;
  readonly clock: Clock;
  readonly windowBytesMax: number;
  readonly actorsMax: number;
  readonly rawRetentionDays: number;
  /** Workspaces with a time zone other than UTC; absent = none. */
  readonly zones?: readonly WorkspaceZone[];
  /** Blocks after this sequence are kept: their deliveries do not exist yet. */
  readonly deliveredBlock: number;
}

export interface ShardFigures {
  readonly windows: number;
  readonly scans: number;
  readonly bots: number;
  /** Visits without a redirect (paused, expired …). */
  readonly missed: number;
  readonly actors: number;
  readonly damagedScans: number;
  readonly damagedBytes: number;
  readonly lostBlocks: number;
  readonly windowMs: number;
  readonly commitMs: number;
  readonly checkpointMs: number;
}

export class Shard {
  readonly #options: ShardOptions;
  readonly #summaries: Summaries;
  readonly #consumers: JournalConsumers;
  readonly #actors: CodeActors;
  readonly #window = new Window();
  #windowActors: CodeActor[] = [];
  readonly #cursor = new RecordCursor();
  readonly #address = new Uint8Array(16);
  readonly #partitions: number[] = [];
  readonly #workspaces: WorkspaceSums;
  readonly expiry: CodeExpiry;
  readonly cuts: ZoneCuts;
  readonly highestSeen = { code: 0, workspace: 0 };
  #uncommitted: { readonly bytes: Buffer; readonly block: ScanBlock } | undefined;
  #windowNumber = 0;
  #sinceCheckpoint = 0;
  #committedScans = 0;
  #deliveredBlock: number;
  /** Sequence up to which this shard's blocks are saved. */
  #checkpoint = 0;
  /** The last cycle found no scans and closed the journals' files, which frees deleted ones. */
  #foundNothing = false;
  /** Blocks that the start could not read, and which of their scans it reads again. */
  readonly #lostBlocks: number;
  readonly #isMissing: ReturnType<typeof missingScans>;
  readonly #figures = { scans: 0, bots: 0, missed: 0, windowMs: 0, commitMs: 0, checkpointMs: 0 };
  readonly #scan: Scan = {
    codeNo: 0,
    workspaceNo: 0,
    timeMs: 0,
    journal: 0,
    position: 0,
    visitorHigh: 0,
    visitorLow: 0,
    country: 0,
    city: '',
    referer: '',
    device: 0,
    platform: 0,
    os: 0,
    browser: 0,
    bot: 0,
    route: 0,
  };

  constructor(options: ShardOptions) {
    this.#options = options;
    this.#deliveredBlock = options.deliveredBlock;
    this.cuts = new ZoneCuts(options.zones);
    this.#summaries = new Summaries(options.store, namesPerDayMax, this.cuts);
    this.expiry = new CodeExpiry(options.store, this.#summaries);
    this.#actors = new CodeActors(this.#summaries, this.expiry);
    for (let partition = options.shard; partition < partitionCount; partition += options.shards) {
      this.#partitions.push(partition);
    }
    this.#isMissing = missingScans(options.store, this.#partitions);
    this.#consumers = new JournalConsumers({
      ...options,
      isReadAgain: this.#isMissing !== undefined,
      root: options.journalRoot,
      bytesMax: options.windowBytesMax,
      watermarksOf: (journal) => this.#watermarks(journal),
    });
    const recovered = eachSinceCheckpoint(options.store, this.#partitions, (block, group) => {
      this.#actors.take(block.codeNo(group), block, group);
      this.#sinceCheckpoint++;
    });
    this.#checkpoint = recovered.from;
    // The workspaces' sums count a block that is read again as lost, too.
    this.#lostBlocks = this.#isMissing === undefined ? recovered.damaged : -1;
    this.#workspaces = new WorkspaceSums({
      ...options,
      partitions: this.#partitions,
      cuts: this.cuts,
    });
  }

  /** One window, sometimes a checkpoint. @returns whether more waits, apart from scans journaled meanwhile */
  cycle(): boolean {
    const { clock, store } = this.#options;
    const startedMs = clock.monotonicMs();
    store.environment.refresh();
    this.#consumers.follow();
    if (this.#uncommitted === undefined) this.#readJournals();
    this.#foundNothing = this.#uncommitted === undefined;
    if (this.#uncommitted !== undefined) {
      this.#commit(this.#uncommitted);
      this.#sinceCheckpoint++;
      this.#figures.windowMs = clock.monotonicMs() - startedMs;
    }
    this.#workspaces.follow();
    const hasWork = this.#sinceCheckpoint > 0 || !this.expiry.isIdle;
    if (this.#foundNothing && (hasWork || this.#isLeftBehind)) this.checkpoint();
    if (this.#sinceCheckpoint >= checkpointWindows) this.checkpoint();
    return this.#consumers.hasMore;
  }

  /**
   * A cycle has nothing to do until a scan is journaled, which wakes all shards, or a command comes. Readers add a block that
   * another shard commits later (its disk was full) to the sums.
   */
  get isIdle(): boolean {
    return (
      this.#foundNothing &&
      !this.#consumers.hasMore &&
      this.#sinceCheckpoint === 0 &&
      this.expiry.isIdle &&
      this.journalFault === undefined &&
      this.#workspaces.isCaughtUp &&
      !this.#isLeftBehind
    );
  }

  get hasUnread(): boolean {
    return this.#consumers.hasUnread;
  }

  /** Why a journal cannot be read; undefined = all can. */
  get journalFault(): string | undefined {
    return this.#consumers.fault;
  }

  get committedScans(): number {
    return this.#committedScans;
  }

  /** Blocks up to here may expire. */
  delivered(block: number): void {
    this.#deliveredBlock = block;
  }

  /** Counts and saves all changes. */
  checkpoint(): void {
    const startedMs = this.#options.clock.monotonicMs();
    this.#actors.count();
    this.#actors.freeExpired();
    this.#workspaces.count();
    while (!this.#trySave());
    this.#actors.settle();
    this.expiry.settle();
    this.#workspaces.settle();
    this.#sinceCheckpoint = 0;
    this.#consumers.save();
    // A window that waits for its commit uses its actors.
    if (this.#uncommitted === undefined) this.#actors.freeIdle(this.#options.actorsMax);
    this.#figures.checkpointMs = this.#options.clock.monotonicMs() - startedMs;
  }

  /** @returns false when an actor found damage, which undoes the transaction: save everything again */
  #trySave(): boolean {
    const { store } = this.#options;
    try {
      this.#checkpoint = store.environment.transactionSync(() => {
        this.#actors.save();
        this.expiry.step();
        this.#workspaces.save();
        const newest = newestSequence(store);
        putCheckpoints(store, this.#partitions, newest);
        if (this.#options.shard === 0) this.#expireBlocks();
        return newest;
      });
      return true;
    } catch (error) {
      if (error instanceof DamagedCounterError) return false;
      throw error;
    }
  }

  /** Journal positions below which this shard needs nothing; resolves once what it committed is on the disk. */
  async consumed(): Promise<JournalConsumers['saved']> {
    if (this.#sinceCheckpoint === 0) this.#consumers.save();
    const { saved } = this.#consumers;
    await this.#options.store.environment.flush();
    return saved;
  }

  figures(): ShardFigures {
    let damagedScans = this.#cursor.malformed;
    let damagedBytes = 0;
    for (const { reader } of this.#consumers) {
      damagedScans += reader.damagedScans;
      damagedBytes += reader.damagedBytes;
    }
    return {
      ...this.#figures,
      windows: this.#windowNumber,
      actors: this.#actors.size,
      damagedScans,
      damagedBytes,
      lostBlocks: Math.max(0, this.#lostBlocks + this.#workspaces.lostBlocks),
    };
  }

  close(): void {
    if (this.#sinceCheckpoint > 0) this.checkpoint();
    this.#consumers.close();
  }

  /** Readers go back to the oldest checkpoint, so a shard without scans moves its own too. */
  get #isLeftBehind(): boolean {
    return newestSequence(this.#options.store) - this.#checkpoint >= checkpointWindows;
  }

  #watermarks(journal: number): Float64Array {
    const { watermarks } = this.#options.store;
    const marks = new Float64Array(partitionCount).fill(Number.MAX_SAFE_INTEGER);
    for (const partition of this.#partitions) {
      marks[partition] = watermarks.get(journal * partitionCount + partition) ?? 0;
    }
    return marks;
  }

  #readJournals(): void {
    const hasMoved = this.#consumers.read((consumer, bytes, frameAt, base) =>
      this.#readFrame(consumer, bytes, frameAt, base),
    );
    if (!hasMoved) return;
    this.#windowNumber++;
    this.#windowActors = [];
    const bytes = this.#window.close(this.#options.shard, (codeNo) => {
      const actor = this.#actors.get(codeNo);
      this.#windowActors.push(actor);
      return actor.newestBlock;
    });
    this.#uncommitted = { bytes, block: new ScanBlock(bytes, this.#window.strings()) };
  }

  #readFrame(consumer: JournalConsumer, bytes: Buffer, frameAt: number, base: number): void {
    const { shard, shards, visitor } = this.#options;
    const cursor = this.#cursor;
    const scan = this.#scan;
    cursor.open(bytes, frameAt);
    scan.timeMs = cursor.timeMs;
    scan.journal = consumer.journal;
    while (cursor.next()) {
      const partition = cursor.partition;
      const position = base + cursor.offset;
      if (partition % shards !== shard) continue;
      const isCounted = position < consumer.watermarks[partition]!;
      if (isCounted && this.#isMissing?.(scan.journal, position, scan.timeMs) !== true) continue;
      cursor.copyAddress(this.#address);
      visitor.read(this.#address, cursor.agent, scan);
      scan.codeNo = cursor.codeNo;
      scan.workspaceNo = cursor.workspaceNo;
      scan.position = position;
      scan.referer = cursor.referer;
      if (scan.bot === BotReason.none && cursor.isPrefetch) scan.bot = BotReason.prefetch;
      scan.route = cursor.route;
      if (scan.bot !== BotReason.none) this.#figures.bots++;
      else if (isMissed(scan.route)) this.#figures.missed++;
      else this.#figures.scans++;
      this.#window.add(scan);
    }
  }

  #commit({ bytes, block }: { readonly bytes: Buffer; readonly block: ScanBlock }): void {
    const startedMs = this.#options.clock.monotonicMs();
    const { store } = this.#options;
    const isEmpty = this.#window.scans === 0;
    store.environment.transactionSync(() => {
      for (const consumer of this.#consumers) {
        // Most journals of a cluster have nothing in a window.
        if (consumer.position === consumer.committed) continue;
        for (const partition of this.#partitions) {
          const mark = Math.max(consumer.position, consumer.watermarks[partition]!);
          store.watermarks.put(consumer.journal * partitionCount + partition, mark);
        }
      }
      if (isEmpty) return;
      const next = newestSequence(store) + 1;
      setBlockSequence(bytes, next);
      store.blocks.put(next, bytes);
      store.meta.put('sequence', next);
    });
    this.#figures.commitMs = this.#options.clock.monotonicMs() - startedMs;
    // First, so that no later failure commits the block twice.
    this.#uncommitted = undefined;
    this.#consumers.committed();
    this.#committedScans += this.#window.scans;
    this.#window.clear();
    if (isEmpty) return;
    block.raise(this.highestSeen);
    this.#actors.add(block, this.#windowActors, this.#windowNumber);
    this.#workspaces.take(block);
  }

  #expireBlocks(): void {
    const { store, clock, shards, rawRetentionDays } = this.#options;
    const counted = [...readCheckpoints(store), ...readCheckpoints(store, 'workspaces')];
    const doneTo = Math.min(this.#deliveredBlock, ...counted);
    const limit = expireFactor * checkpointWindows * shards;
    expireBlocks(store, { nowMs: clock.now(), rawRetentionDays, doneTo, limit });
  }
}
