/**
 * The links of a core's store as frames: all of them in slices, and the changes after a number.
 *
 * A snapshot is read a slice at a time while links change. The changes since its beginning follow by their numbers, each with
 * its newest block. Feeds at the same number share what was read.
 */
import type { CodeNo } from '../../model/numbers.ts';
import { linkBlockOf } from '../../store/management/link-blocks.ts';
import { linkChangesOf } from '../../store/management/link-changes.ts';
import { readLinkBlock } from '../../store/management/link-repair.ts';
import type { Management } from '../../store/management/management.ts';
import { pagesChangedAfter } from '../../store/management/pages.ts';
import { encodeFrame } from './link-frames.ts';

/** Changes in a piece: with their blocks 1 ms. */
const sliceChangesMax = 500;
/**
 * Bytes after which a piece ends: about 180 blocks, 1 ms. With one block of the largest programs behind it a piece has
 * 2.9 MB; without this bound 500 changes could have 1.3 GB, and the edge would wait too long for a beat.
 */
const sliceBytes = 262_144;
const sliceBlocksMax = 256;

/** Encoded frames, up to a number. */
export interface Slice {
  readonly piece: Buffer;
  readonly number: number;
}

export interface SnapshotSlice {
  readonly piece: Buffer;
  /** Where the next one begins; undefined after the last. */
  readonly next: number | undefined;
}

/** What an edge has. */
export interface ChangesSeen {
  readonly number: number;
  /** Of the last changes, the newest first, as far as they are known; `noCode` = not known. */
  readonly codes: readonly CodeNo[];
}

/** For a number whose code is unknown. */
export const noCode: CodeNo = 0;

export class LinkSource {
  readonly #store: Management;
  readonly #unlisten: () => void;
  /** The last number; undefined since something was committed. */
  #last: number | undefined;
  #read: (Slice & { readonly after: number }) | undefined;

  constructor(store: Management) {
    this.#store = store;
    this.#unlisten = store.environment.committed.listen(() => this.refresh());
  }

  close(): void {
    this.#unlisten();
  }

  /** Reads the last number again. */
  refresh(): void {
    this.#last = undefined;
  }

  /** The number of the last change. */
  get last(): number {
    if (this.#last === undefined) {
      this.#store.environment.refresh();
      this.#last = this.#store.last('link');
    }
    return this.#last;
  }

  /**
   * True if the first change after `number` is stored, and the last ones up to it were of these codes: after a restore from a
   * copy, numbers belong to other changes.
   */
  follows({ number, codes }: ChangesSeen): boolean {
    const { linkChanges } = this.#store.bulk;
    if (number > this.last || (number < this.last && !linkChanges.has(number + 1))) return false;
    return codes.every((codeNo, back) => {
      const here = linkChanges.get(number - back, () => undefined) ?? noCode;
      return codeNo === noCode || here === noCode || codeNo === here;
    });
  }

  /** The first of them; undefined if one is missing or damaged, or if `number` is beyond the last. */
  changesAfter(number: number): Slice | undefined {
    const { last } = this;
    if (number > last) return undefined;
    if (number === last) return { piece: Buffer.alloc(0), number };
    if (this.#read?.after !== number) {
      const upTo = Math.min(last, number + sliceChangesMax);
      const changes = linkChangesOf(this.#store, number + 1, upTo);
      if (changes === undefined) return undefined;
      this.#read = { after: number, ...this.#encode(changes) };
    }
    return this.#read;
  }

  /** Blocks, then their changes: as many as a piece holds, at least one. */
  #encode(changes: ReadonlyMap<number, CodeNo>): Slice {
    const blocks = new Map<number, Buffer | undefined>();
    const numbered: Buffer[] = [];
    let bytes = 0;
    let last = 0;
    for (const [number, codeNo] of changes) {
      const blockNo = linkBlockOf(codeNo);
      if (!blocks.has(blockNo)) {
        if (bytes >= sliceBytes) break;
        const block = readLinkBlock(this.#store, blockNo);
        const frame = block && encodeFrame({ kind: 'block', blockNo, bytes: block });
        blocks.set(blockNo, frame);
        bytes += frame?.length ?? 0;
      }
      numbered.push(encodeFrame({ kind: 'change', number, codeNo }));
      last = number;
    }
    const known = [...blocks.values()].filter((frame) => frame !== undefined);
    return { piece: Buffer.concat([...known, ...numbered]), number: last };
  }

  /** Page texts of workspaces that changed after this number; undefined if that is the last. */
  pagesAfter(number: number): Slice | undefined {
    const newest = this.#store.last('pages');
    if (number >= newest) return undefined;
    const frames: Buffer[] = [];
    let bytes = 0;
    for (const { change, workspaceNo, pages } of pagesChangedAfter(this.#store.pages, number)) {
      const json = JSON.stringify(pages);
      const frame = encodeFrame({ kind: 'pages', number: change, workspaceNo, json });
      frames.push(frame);
      bytes += frame.length;
      if (bytes >= sliceBytes) return { piece: Buffer.concat(frames), number: change };
    }
    return { piece: Buffer.concat(frames), number: newest };
  }

  /** Blocks from `start` on. */
  snapshot(start: number): SnapshotSlice {
    this.#store.environment.refresh();
    const frames: Buffer[] = [];
    let bytes = 0;
    let next = start;
    const add = (blockNo: number, block: Uint8Array | undefined): void => {
      next = blockNo + 1;
      if (block === undefined) return;
      const frame = encodeFrame({ kind: 'block', blockNo, bytes: block });
      frames.push(frame);
      bytes += frame.length;
    };
    let count = 0;
    const repaired = (blockNo: number): void => {
      count += 1;
      add(blockNo, readLinkBlock(this.#store, blockNo));
    };
    for (const { key, value } of this.#store.links.range(
      { start, limit: sliceBlocksMax },
      repaired,
    )) {
      count += 1;
      add(key, value);
      if (bytes >= sliceBytes) break;
    }
    const isEnd = count < sliceBlocksMax && bytes < sliceBytes;
    return { piece: Buffer.concat(frames), next: isEnd ? undefined : next };
  }
}
