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
 * seen, and stays readable until it is copied.
 */
import { mkdirSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemErrorCode } from '../model/failure.ts';
import {
  journalFolder,
  listJournals,
  listSegments,
  segmentFile,
} from '../scans/journal/segments.ts';
import { copyHandle } from './backup-files.ts';

/** A segment lives longer: it is deleted with the figures of a second at the earliest. */
const watchMs = 50;

interface HeldJournal {
  /** Start -> the file, which stays readable after it is deleted. */
  readonly segments: Map<number, FileHandle>;
  /** The newest start that was there when holding began, -1 without one. */
  readonly known: number;
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
   * @param root of the copies
   * @returns names of the copies below `root`; undefined when a segment may have come and gone unseen
   */
  async copy(root: string, countedTo: (journal: number) => number): Promise<string[] | undefined> {
    await this.#endWatching();
    await this.#openNew();
    const names: string[] = [];
    for (const [journal, held] of this.#journals) {
      const copied = await copyJournal(held, journalFolder(root, journal), countedTo(journal));
      if (copied === undefined) return undefined;
      names.push(...copied.map((name) => `${journal}/${name}`));
    }
    return names;
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
        const file = await openIfThere(segmentFile(folder, start));
        if (file !== undefined) held.segments.set(start, file);
      }
    }
  }
}

/** Undefined when it was counted and deleted since it was listed. */
async function openIfThere(file: string): Promise<FileHandle | undefined> {
  try {
    return await open(file, 'r');
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function copyJournal(
  { segments, known }: HeldJournal,
  folder: string,
  from: number,
): Promise<string[] | undefined> {
  const names: string[] = [];
  const sorted = [...segments].sort(([a], [b]) => a - b);
  let end = from;
  for (const [index, [start, file]] of sorted.entries()) {
    // Below the first that was there, and between old ones, a gap is one of positions: no scan is in it.
    if (start > known && start > end) return undefined;
    // What a refused write has left after its segment's end was written again in the next one.
    const next = sorted[index + 1]?.[0] ?? Number.MAX_SAFE_INTEGER;
    end = Math.min(start + (await file.stat()).size, next);
    const at = Math.max(start, from);
    if (at >= end) {
      end = Math.max(end, from);
      continue;
    }
    mkdirSync(folder, { recursive: true });
    const copy = segmentFile(folder, at);
    await copyHandle(file, copy, { from: at - start, to: end - start });
    names.push(basename(copy));
  }
  return names;
}
