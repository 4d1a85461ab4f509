/**
 * The journals in a backup: what the backup's own copy of scans.mdb has not counted, and nothing else. What is
 * counted holds addresses that the service is about to delete.
 *
 *   live     |--- segment A ---|--- segment B ---|
 *   copy               |---- A' ---|---- B' -----|     A' is named by the position of its first byte
 *                      ^ lowest watermark of the copy
 *
 * Positions stay as they are, so the restored watermarks and ids go on where the copy ends. While scans.mdb is
 * copied, which may take minutes, the service ends, counts and deletes segments: each is opened as soon as it is
 * seen, and stays readable until it is copied. A journal of which all is counted gets an empty segment, named by
 * its end: without one its end could not be told from a lost one's.
 */
import type { FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  journalFolder,
  listJournals,
  listSegments,
  openSegment,
  segmentFile,
} from '../../scans/journal/segments.ts';
import { type ByteRange, type CopiedFile, copyHandle } from './copy-files.ts';
import type { CopyDisk } from './copy-disk.ts';

/** A segment lives longer: it is deleted with the figures of a second at the earliest. */
const watchMs = 50;

interface HeldJournal {
  /** Start -> the file, which stays readable after it is deleted. */
  readonly segments: Map<number, FileHandle>;
  /** The newest start that was there when holding began, -1 without one. */
  readonly known: number;
}

/** Where copies go. */
export interface JournalCopies {
  readonly disk: CopyDisk;
  /** Of the journals. */
  readonly root: string;
  readonly onBytes: (bytes: number) => void;
}

export class HeldJournals {
  readonly #root: string;
  readonly #journals = new Map<number, HeldJournal>();
  readonly #ending = new AbortController();
  #watching: Promise<void> = Promise.resolve();

  private constructor(root: string) {
    this.#root = root;
  }

  /** Holds every segment that there is, and those that come. */
  static async hold(root: string): Promise<HeldJournals> {
    const held = new HeldJournals(root);
    for (const journal of listJournals(root)) {
      const known = listSegments(journalFolder(root, journal)).at(-1) ?? -1;
      held.#journals.set(journal, { segments: new Map(), known });
    }
    await held.#openNew();
    held.#watching = held.#watch();
    held.#watching.catch(() => undefined);
    return held;
  }

  /**
   * Copies what lies at or above `countedTo` of each journal, as far as it is written.
   * @returns the copies, named below `copies.root`; undefined when a segment may have come and gone unseen
   */
  async copy(
    copies: JournalCopies,
    countedTo: (journal: number) => number,
  ): Promise<CopiedFile[] | undefined> {
    await this.#endWatching();
    await this.#openNew();
    const files: CopiedFile[] = [];
    for (const [journal, held] of this.#journals) {
      const folder = journalFolder(copies.root, journal);
      const copied = await copyJournal(held, folder, countedTo(journal), copies);
      if (copied === undefined) return undefined;
      files.push(...copied.map((file) => ({ ...file, name: `${journal}/${file.name}` })));
    }
    return files;
  }

  async close(): Promise<void> {
    await this.#endWatching().catch(() => undefined);
    for (const { segments } of this.#journals.values()) {
      for (const file of segments.values()) await file.close();
    }
  }

  async #endWatching(): Promise<void> {
    this.#ending.abort();
    await this.#watching;
  }

  async #watch(): Promise<void> {
    const { signal } = this.#ending;
    while (!signal.aborted) {
      await this.#openNew();
      await sleep(watchMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #openNew(): Promise<void> {
    for (const journal of listJournals(this.#root)) {
      const held = this.#journals.get(journal) ?? { segments: new Map(), known: -1 };
      this.#journals.set(journal, held);
      const folder = journalFolder(this.#root, journal);
      for (const start of listSegments(folder)) {
        if (held.segments.has(start)) continue;
        const file = await openSegment(segmentFile(folder, start));
        if (file !== undefined) held.segments.set(start, file);
      }
    }
  }
}

async function copyJournal(
  { segments, known }: HeldJournal,
  folder: string,
  from: number,
  { disk, onBytes }: JournalCopies,
): Promise<CopiedFile[] | undefined> {
  const files: CopiedFile[] = [];
  const sorted = [...segments].sort(([a], [b]) => a - b);
  const copy = async (source: FileHandle, start: number, range: ByteRange): Promise<void> => {
    const path = segmentFile(folder, start);
    const copied = await copyHandle(disk, source, path, onBytes, range);
    files.push({ name: basename(path), ...copied });
  };
  let end = from;
  let copiedTo = -1;
  for (const [index, [start, file]] of sorted.entries()) {
    // Below the first that was there, and between old ones, a gap is one of positions: no scan is in it.
    if (start > known && start > end) return undefined;
    // What a refused write has left after its segment's end was written again in the next one.
    const next = sorted[index + 1]?.[0] ?? Number.MAX_SAFE_INTEGER;
    const at = Math.max(start, from);
    end = Math.min(start + (await file.stat()).size, next);
    const isNewest = index === sorted.length - 1;
    if (at < end) await copy(file, at, { from: at - start, to: end - start });
    else if (isNewest && end !== copiedTo) await copy(file, end, { from: 0, to: 0 });
    copiedTo = at < end ? end : copiedTo;
    end = Math.max(end, from);
  }
  return files;
}
