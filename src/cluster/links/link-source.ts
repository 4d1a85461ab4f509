/**
 * The links of a core's store as frames: all of them in slices, and the changes after a number.
 *
 * A snapshot is not of one moment: it is read a slice at a time while links change, and the changes since its beginning
 * follow by their numbers, each with its block as it is then. Feeds that stand at the same number share what was read.
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

/** Encoded frames, and the number up to which they go. */
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

/** Of a number that says nothing of a link. */
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

  /** What another handle has committed is seen from here on. */
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
   * Whether the changes after `number` are kept, as far as the first of them tells, and those up to it were of these
   * codes: after data was put back from a copy, numbers are given to other changes.
   */
  follows({ number, codes }: ChangesSeen): boolean {
    const { linkChanges } = this.#store.bulk;
    if (number > this.last || (number < this.last && !linkChanges.has(number + 1))) return false;
    return codes.every((codeNo, back) => {
      const here = linkChanges.get(number - back, () => undefined) ?? noCode;
      return codeNo === noCode || here === noCode || codeNo === here;
    });
  }

  /** The first of them; undefined where one is missing or damaged, or where `number` is beyond the last. */
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

  /** As many of the changes as a piece holds, one at least, behind their blocks. */
  #encode(changes: ReadonlyMap<number, CodeNo>): Slice {
    const blocks = new Map<number, Buffer | undefined>();
    const told: Buffer[] = [];
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
      told.push(encodeFrame({ kind: 'change', number, codeNo }));
      last = number;
    }
    const known = [...blocks.values()].filter((frame) => frame !== undefined);
    return { piece: Buffer.concat([...known, ...told]), number: last };
  }

  /** What workspaces say on their pages, after the change with this number; undefined where that is the last. */
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
