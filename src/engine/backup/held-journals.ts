/**
 * The journals in a backup: exactly the scans that its copy of scans.mdb has not counted. Counted scans have addresses that
 * the service is about to delete.
 *
 *   live     |--- segment A ---|--- segment B ---|
 *   copy               |---- A' ---|---- B' -----|     A' is named by the position of its first byte
 *                      ^ lowest watermark of the copy
 *
 * Positions do not change, so the restored watermarks and ids continue where the copy ends. A copy of scans.mdb may take
 * minutes, in which the service ends, counts and deletes segments: each is opened when it is seen, and stays readable until it
 * is copied. A journal that is counted completely gets an empty segment, named by its end. Without it the journal would
 * look like one that has lost its newest segment.
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

/** A segment exists longer: the service deletes segments once a second. */
const watchMs = 50;

interface HeldJournal {
  /** Start -> the file, which stays readable after it is deleted. */
  readonly segments: Map<number, FileHandle>;
  /** The newest start at `hold`, -1 = none. */
  readonly known: number;
}

interface JournalCopies {
  readonly disk: CopyDisk;
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

  /** Opens every segment, and new ones until `copy`. */
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
   * Copies the bytes of each journal from `countedTo` on.
   * @returns the copies, named below `copies.root`; undefined if a segment may have been written and deleted unseen
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
    // A gap among the segments that existed at `hold` has no scans, only positions.
    if (start > known && start > end) return undefined;
    // After a refused write, the bytes beyond the segment's end were written again in the next one.
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
