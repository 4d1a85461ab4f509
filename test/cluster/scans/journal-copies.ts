/** A journal on an edge's disk, its copy on a core's disk, and what a reader finds in both. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JournalFilesSink } from '../../../src/cluster/scans/journal-sink.ts';
import { JournalFiles } from '../../../src/cluster/scans/journal-source.ts';
import { JournalPositions } from '../../../src/engine/journal/positions.ts';
import { JournalReader } from '../../../src/engine/journal/reader.ts';
import {
  journalFolder,
  recoverJournal,
  segmentFile,
} from '../../../src/engine/journal/segments.ts';
import { type JournalDisk, JournalWriter, systemDisk } from '../../../src/engine/journal/writer.ts';
import { frameHeaderBytes, framePayloadBytes } from '../../../src/engine/journal/record.ts';

export class JournalCopies {
  readonly root = mkdtempSync(join(tmpdir(), 'quietzone-copies-'));
  readonly edgeTails = new JournalPositions();
  readonly coreRoot = join(this.root, 'core');
  readonly edge = join(this.root, 'edge');
  readonly source = new JournalFiles(this.edge, () => this.edgeTails.position(0));
  coreTails = new JournalPositions();

  constructor() {
    mkdirSync(this.edge);
    mkdirSync(this.coreRoot);
  }

  writer(position: number, segmentBytesMax: number): JournalWriter {
    return new JournalWriter({
      folder: this.edge,
      journal: 0,
      position,
      segmentBytesMax,
      segmentMsMax: 0,
      backlogBytesMax: 0,
      tails: this.edgeTails,
    });
  }

  /** As a process opens it after a crash. */
  sink(segmentBytesMax = 1e9, disk: JournalDisk = systemDisk): JournalFilesSink {
    this.coreTails = new JournalPositions();
    return new JournalFilesSink({
      tails: this.coreTails,
      recover: (journal) => {
        const folder = journalFolder(this.coreRoot, journal);
        return { folder, position: recoverJournal(folder, 0).position };
      },
      writer: { segmentBytesMax, segmentMsMax: 0, disk },
    });
  }

  core(journal = 0): string {
    return journalFolder(this.coreRoot, journal);
  }

  changeSegment(start: number, change: (bytes: Buffer) => Buffer | undefined): void {
    const file = segmentFile(this.edge, start);
    const bytes = readFileSync(file);
    writeFileSync(file, change(bytes) ?? bytes);
  }

  remove(): void {
    rmSync(this.root, { recursive: true });
  }
}

/** What a shard sees of a journal, read up to one tail after the other. */
export class Visits {
  readonly #reader: JournalReader;
  readonly #frames: string[] = [];
  #at = 0;

  constructor(folder: string) {
    this.#reader = new JournalReader(folder, 1);
  }

  readTo(tail: number): void {
    while (this.#at < tail) {
      const next = this.#reader.read(this.#at, tail, (bytes, at, base) => {
        const end = at + frameHeaderBytes + framePayloadBytes(bytes, at);
        const hash = createHash('md5').update(bytes.subarray(at, end)).digest('base64');
        this.#frames.push(`${base + at} ${hash}`);
      });
      if (next <= this.#at) throw new Error(`the reader is stuck at ${this.#at} of ${tail}`);
      this.#at = next;
    }
  }

  get found() {
    const { damagedBytes, damagedScans } = this.#reader;
    return { frames: this.#frames, damagedBytes, damagedScans, at: this.#at };
  }

  close(): void {
    this.#reader.close();
  }
}

export function visits(folder: string, tail: number): Visits['found'] {
  if (!existsSync(folder)) return { frames: [], damagedBytes: 0, damagedScans: 0, at: 0 };
  const visited = new Visits(folder);
  visited.readTo(tail);
  visited.close();
  return visited.found;
}
