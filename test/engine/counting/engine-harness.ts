/**
 * The scan engine in one thread: real journals, store and shards, and a plain list of what was journaled. A test decides
 * who moves when, who crashes, and which commit fails.
 */
import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JournalLag } from '../../../src/engine/journal/journal-lag.ts';
import { partitionCount, partitionOf, type ScannedCode } from '../../../src/model/code.ts';
import { Failure } from '../../../src/model/failure.ts';
import {
  beginSegment,
  journalFolder,
  recoverJournal,
  segmentFile,
  listSegments,
  pruneJournal,
} from '../../../src/engine/journal/segments.ts';
import { Counting } from '../../../src/engine/counting/counting.ts';
import { type FileIdentity, identify } from '../../../src/engine/journal/file-identity.ts';
import { JournalPositions } from '../../../src/engine/journal/positions.ts';
import { JournalWriter } from '../../../src/engine/journal/writer.ts';
import {
  flagPrefetch,
  RecordCursor,
  routeFlags,
  ScanBatch,
} from '../../../src/engine/journal/record.ts';
import type { WorkspaceZone } from '../../../src/engine/counting/days/zone-cuts.ts';
import type { RawScanCounter } from '../../../src/engine/analytics/raw/raw-query.ts';
import { openScanQueries, type ScanQueries } from '../../../src/engine/analytics/queries.ts';
import { Shard } from '../../../src/engine/counting/shard.ts';
import { Visitor } from '../../../src/engine/visitor/visitor.ts';
import { highestWatermark, openScanStore, type ScanStore } from '../../../src/store/scans/scans.ts';

export interface ScanInput {
  readonly codeNo: number;
  readonly workspaceNo: number;
  readonly agent: string;
  readonly referer: string;
  readonly address: Uint8Array;
  readonly isPrefetch: boolean;
  /** Where it led; default: to the code's target. */
  readonly route?: number;
}

/** A scan of workspace 1 by a visitor without a user agent. */
export const scanOf = (codeNo: number, more: Partial<ScanInput> = {}): ScanInput => ({
  codeNo,
  workspaceNo: 1,
  agent: '',
  referer: '',
  address: Uint8Array.of(192, 0, 2, 1),
  isPrefetch: false,
  ...more,
});

/** A journaled scan: what the numbers must come from. */
export interface ScanFact extends ScanInput {
  readonly timeMs: number;
  readonly journal: number;
  readonly position: number;
  /** Order of the commit that made it visible. */
  commit: number;
}

export type FailPoint = 'before' | 'after';

const defaults = {
  journals: 1,
  segmentBytesMax: 10_000,
  actorsMax: 100,
  rawRetentionDays: 30,
  codeOf: (codeNo: number): ScannedCode | undefined => ({ id: `qr_${codeNo}` }),
  /** A window has frames of one journal. */
  windowBytesMax: 1,
  /** Time zones of workspaces, as shards know them when they start. */
  zones: [] as readonly WorkspaceZone[],
};

export interface HarnessOptions extends Partial<Readonly<typeof defaults>> {
  /** Who counts raw scans; default: the queries themselves. */
  readonly raw?: RawScanCounter;
  /** A copy of another's folder, which becomes this one's: as after a crash of that one. */
  readonly folder?: string;
}

export class EngineHarness {
  readonly facts: ScanFact[] = [];
  readonly store: ScanStore;
  readonly queries: ScanQueries;
  shards: Shard[] = [];
  /** Transactions that still go through before one fails. */
  failAfter = Number.MAX_SAFE_INTEGER;
  failPoint: FailPoint = 'before';
  failures = 0;
  nowMs = 0;
  readonly #options: Readonly<typeof defaults>;
  readonly folder: string;
  readonly #place: FileIdentity;
  readonly #readStore: ScanStore;
  readonly tails = new JournalPositions();
  readonly #batch = new ScanBatch();
  readonly #visitor = new Visitor({ key: Buffer.alloc(16, 7), geo: {} });
  #consumed: JournalPositions[] = [];
  readonly writers: Array<JournalWriter | undefined> = [];
  #commits = 0;
  #zones: readonly WorkspaceZone[];

  constructor(given: HarnessOptions = {}) {
    const options = { ...defaults, ...given };
    this.#options = options;
    this.#zones = options.zones;
    this.folder = options.folder ?? mkdtempSync(join(tmpdir(), 'quietzone-engine-'));
    const file = join(this.folder, 'scans.mdb');
    this.store = openScanStore(file, 'create');
    this.#readStore = openScanStore(file, 'create');
    this.queries = openScanQueries(this.#readStore, options.codeOf, options.raw);
    mkdirSync(this.journalRoot, { recursive: true });
    this.#place = identify(this.journalRoot);
    this.#injectFailures();
    for (let journal = 0; journal < options.journals; journal++) this.openJournal(journal);
  }

  counting(): Counting {
    return new Counting(this.#readStore, this.tails);
  }

  /** A redirect thread starts: after a crash, over whatever its predecessor left. */
  openJournal(journal: number): void {
    const folder = journalFolder(this.journalRoot, journal);
    this.store.environment.refresh();
    const { position } = recoverJournal(folder, highestWatermark(this.store, journal));
    beginSegment(folder, position);
    this.writers[journal] = new JournalWriter({
      folder,
      journal,
      position,
      segmentBytesMax: this.#options.segmentBytesMax,
      segmentMsMax: 0,
      backlogBytesMax: 1_000_000,
      tails: this.tails,
    });
  }

  /** A redirect thread dies in the middle of a write, and its successor starts. */
  async tearJournal(journal: number, garbage: Uint8Array): Promise<void> {
    const folder = journalFolder(this.journalRoot, journal);
    await this.writers[journal]!.close();
    const newest = listSegments(folder).at(-1);
    if (newest !== undefined) appendFileSync(segmentFile(folder, newest), garbage);
    this.openJournal(journal);
  }

  /** The open segment is as old as it may get. */
  rotate(journal: number): void {
    this.writers[journal]!.rotate(0);
  }

  scan(journal: number, timeMs: number, inputs: readonly ScanInput[]): void {
    let batched: ScanInput[] = [];
    for (const input of inputs) {
      const { codeNo, workspaceNo, isPrefetch, address, agent, referer, route = 0 } = input;
      const flags = (isPrefetch ? flagPrefetch : 0) | routeFlags(route);
      this.#batch.add(partitionOf(codeNo), codeNo, workspaceNo, flags, address, agent, referer);
      batched.push(input);
      if (!this.#batch.isFull) continue;
      this.#append(journal, timeMs, batched);
      batched = [];
    }
    if (batched.length > 0) this.#append(journal, timeMs, batched);
  }

  #append(journal: number, timeMs: number, inputs: readonly ScanInput[]): void {
    const writer = this.writers[journal]!;
    const base = writer.position;
    const frame = this.#batch.finish(timeMs);
    const cursor = new RecordCursor();
    cursor.open(frame, 0);
    for (const input of inputs) {
      cursor.next();
      this.facts.push({ ...input, timeMs, journal, position: base + cursor.offset, commit: 0 });
    }
    writer.append(frame, inputs.length);
  }

  /** The folder of all journals is moved away, and another one, as empty as a new one, is at its path. */
  hideJournals(replacement: 'none' | 'empty'): void {
    renameSync(this.journalRoot, `${this.journalRoot}.away`);
    if (replacement === 'none') return;
    for (let journal = 0; journal < this.#options.journals; journal++) {
      mkdirSync(journalFolder(this.journalRoot, journal), { recursive: true });
    }
  }

  showJournals(): void {
    rmSync(this.journalRoot, { recursive: true, force: true });
    renameSync(`${this.journalRoot}.away`, this.journalRoot);
  }

  /** What the shards have not counted, as the control thread sees it. */
  get lag(): JournalLag {
    return new JournalLag(this.tails, this.#consumed);
  }

  /** All shards start. What ran before is dropped as a crash drops it: nothing is saved or closed. */
  startShards(count: number): void {
    this.shards = [];
    this.#consumed = Array.from({ length: count }, () => new JournalPositions());
    this.failAfter = Number.MAX_SAFE_INTEGER;
    this.store.environment.refresh();
    for (let shard = 0; shard < count; shard++) this.shards.push(this.#createShard(shard, count));
  }

  setZones(zones: readonly WorkspaceZone[]): void {
    this.#zones = zones;
    for (const shard of this.shards) shard.cuts.set(zones);
  }

  /** One cycle, as the worker runs it: an expected failure is kept for the next try. */
  cycle(shard: number): boolean {
    const it = this.shards[shard % this.shards.length]!;
    const hasMore = this.#survive(() => it.cycle()) ?? true;
    this.#markCommitted();
    return hasMore;
  }

  checkpoint(shard: number): void {
    this.#survive(() => this.shards[shard % this.shards.length]!.checkpoint());
  }

  /** As the control thread does: deletes the segments that every shard says it has consumed. */
  async pruneJournals(): Promise<void> {
    const consumed = await Promise.all(this.shards.map((shard) => shard.consumed()));
    for (let journal = 0; journal < this.#options.journals; journal++) {
      // A shard that has not met the journal has consumed nothing of it.
      const positions = consumed.map(
        (marks) => marks.find((mark) => mark.journal === journal)?.position ?? 0,
      );
      const position = Math.min(...positions);
      pruneJournal(journalFolder(this.journalRoot, journal), position);
    }
  }

  /** Runs all shards until nothing waits. */
  settle(): void {
    this.failAfter = Number.MAX_SAFE_INTEGER;
    for (let shard = 0; shard < this.shards.length; shard++) {
      let cycles = 0;
      while (this.cycle(shard)) {
        if (++cycles > 1_000) throw new Error('Cannot settle: a shard never catches up');
      }
    }
  }

  committed(): ScanFact[] {
    return this.facts.filter((fact) => fact.commit > 0);
  }

  async close(): Promise<void> {
    for (const shard of this.shards) shard.close();
    for (const writer of this.writers) await writer?.close();
    await this.#readStore.environment.close();
    await this.store.environment.close();
    rmSync(this.folder, { recursive: true, force: true });
  }

  get journalRoot(): string {
    return join(this.folder, 'journal');
  }

  #createShard(shard: number, shards: number): Shard {
    return new Shard({
      ...this.#options,
      shard,
      shards,
      journalRoot: this.#place,
      store: this.store,
      tails: this.tails,
      consumed: this.#consumed[shard]!,
      visitor: this.#visitor,
      clock: { now: () => this.nowMs, monotonicMs: () => 0 },
      zones: this.#zones,
      deliveredBlock: Number.MAX_SAFE_INTEGER,
    });
  }

  #survive<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof Failure)) throw error;
      this.failures++;
      return undefined;
    }
  }

  #injectFailures(): void {
    const { environment } = this.store;
    const real = environment.transactionSync.bind(environment);
    environment.transactionSync = (work) => {
      const fails = this.failAfter-- <= 0;
      if (fails && this.failPoint === 'before') throw new Failure('storage_full', 'full');
      return real(() => {
        const result = work();
        if (fails) throw new Failure('storage_full', 'full');
        return result;
      });
    };
  }

  /** One cycle is one commit: scans that it brings below a watermark carry its number. */
  #markCommitted(): void {
    this.store.environment.refresh();
    const commit = ++this.#commits;
    const marks = new Map<number, number>();
    for (const fact of this.facts) {
      if (fact.commit > 0) continue;
      const key = fact.journal * partitionCount + partitionOf(fact.codeNo);
      let mark = marks.get(key);
      if (mark === undefined) marks.set(key, (mark = this.store.watermarks.get(key) ?? 0));
      if (fact.position < mark) fact.commit = commit;
    }
  }
}
