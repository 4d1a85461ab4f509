/**
 * The journals in a backup: exactly the scans that its copy of scans.mdb has not counted. A backup must not keep the addresses
 * of counted scans, which the service is about to delete.
 *
 *   live     |--- segment A ---|--- segment B ---|
 *   copy               |---- A' ---|---- B' -----|     A' is named by the position of its first byte
 *                      ^ lowest watermark of the copy
 *
 * Positions do not change, so the restored watermarks and ids continue where the copy ends. `hold` is called just before and
 * just after the snapshot of scans.mdb is taken; an open segment stays readable when the service deletes it. A fully
 * counted journal gets an empty segment, named by its end; otherwise its newest segment would seem lost.
 */
import type { FileHandle } from 'node:fs/promises';
import { basename } from 'node:path';
import {
  journalFolder,
  listJournals,
  listSegments,
  openSegment,
  segmentFile,
} from '../../../engine/journal/segments.ts';
import { DataFolderError } from '../data-folder.ts';
import { type ByteRange, type CopiedFile, copyHandle } from './copy-files.ts';

interface HeldJournal {
  /** By position of the first byte. */
  readonly segments: Map<number, FileHandle>;
  /** Start of the newest segment at the first `hold`. */
  readonly known: number;
}

export class HeldJournals {
  readonly #root: string;
  readonly #journals = new Map<number, HeldJournal>();

  constructor(root: string) {
    this.#root = root;
  }

  /** Opens every segment that is not open yet. */
  async hold(): Promise<void> {
    for (const journal of listJournals(this.#root)) {
      const folder = journalFolder(this.#root, journal);
      const starts = listSegments(folder);
      const held = this.#journals.get(journal) ?? {
        segments: new Map(),
        known: starts.at(-1) ?? 0,
      };
      this.#journals.set(journal, held);
      for (const start of starts) {
        if (held.segments.has(start)) continue;
        const file = await openSegment(segmentFile(folder, start));
        if (file !== undefined) held.segments.set(start, file);
      }
    }
  }

  /**
   * Copies the bytes of each journal from `countedTo` on.
   * @returns the copies, named below `root`
   * @throws DataFolderError if a segment was written and deleted between two calls of `hold`
   */
  async copy(
    root: string,
    onBytes: (bytes: number) => void,
    countedTo: (journal: number) => number,
  ): Promise<CopiedFile[]> {
    const files: CopiedFile[] = [];
    for (const [journal, held] of this.#journals) {
      const copied = await copyJournal(
        held,
        journalFolder(root, journal),
        countedTo(journal),
        onBytes,
      );
      files.push(...copied.map((file) => ({ ...file, name: `${journal}/${file.name}` })));
    }
    return files;
  }

  async close(): Promise<void> {
    for (const { segments } of this.#journals.values()) {
      for (const file of segments.values()) await file.close();
    }
  }
}

async function copyJournal(
  { segments, known }: HeldJournal,
  folder: string,
  from: number,
  onBytes: (bytes: number) => void,
): Promise<CopiedFile[]> {
  const files: CopiedFile[] = [];
  const sorted = [...segments].sort(([a], [b]) => a - b);
  const copy = async (source: FileHandle, start: number, range: ByteRange): Promise<void> => {
    const path = segmentFile(folder, start);
    const copied = await copyHandle(source, path, onBytes, range);
    files.push({ name: basename(path), ...copied });
  };
  let end = from;
  let copiedTo = -1;
  for (const [index, [start, file]] of sorted.entries()) {
    // A gap among the segments of the first `hold` has no scans, only positions.
    if (start > known && start > end) throw fastJournal(folder);
    // After a refused write, the next segment has the bytes beyond this segment's end again.
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

const fastJournal = (folder: string): DataFolderError =>
  new DataFolderError(
    `Cannot copy journal ${basename(folder)}: it grows faster than it is read, try again later`,
  );
