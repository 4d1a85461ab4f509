/**
 * Links on their way to an edge: what it asks of a core, and one answer, in these fields (link-feed.ts).
 *
 *   cluster, last, isCurrent   whose numbers these are, the core's last change, and whether it follows the log
 *   number, codes, blocks      the changes up to `number`, in order: of which code each is, and the blocks of these codes
 *   part                       absent, or [from, next]: `blocks` are all from `from` on, below `next`; the edge must not
 *                              trust what it has. With the last part it has all changes up to `number`; `codes` are the
 *                              last ones of them
 *   pagesNumber, pages         [workspaceNo, JSON] of workspaces whose pages have changed, up to that number
 *   totalsNext, totals         [codeNo, scans] of limited codes, counted so far in the whole cluster
 */
import type { CodeNo } from '../../model/numbers.ts';
import { isCount, isCountPair, isFlag, isText, listOf, messageFormat } from '../message-fields.ts';

/** What an edge has. */
export interface LinkPosition {
  /** That gave the numbers. */
  readonly cluster: string;
  /** All changes up to it. */
  readonly number: number;
  /** Of the last changes, the newest first, as far as they are known. */
  readonly codes: readonly CodeNo[];
}

export interface LinkPiece {
  readonly cluster: string;
  readonly last: number;
  readonly isCurrent: boolean;
  readonly number: number;
  readonly codes: readonly CodeNo[];
  readonly blocks: ReadonlyArray<readonly [blockNo: number, bytes: Uint8Array]>;
  readonly part: readonly [from: number, next: number] | undefined;
  readonly pagesNumber: number;
  readonly pages: ReadonlyArray<readonly [workspaceNo: number, json: string]>;
  readonly totalsNext: number;
  readonly totals: ReadonlyArray<readonly [codeNo: CodeNo, scans: number]>;
}

/** The newest changes, which show whether edge and core have the same ones. */
export const codesShown = 16;

/** `next` of the last part. */
export const blocksEnd = 2 ** 32 - 1;

/** Not what a core answers. */
export class LinkPieceError extends Error {
  override readonly name = 'LinkPieceError';
}

const isBlock = (value: unknown): value is readonly [number, Uint8Array] =>
  Array.isArray(value) && isCount(value[0]) && value[1] instanceof Uint8Array;

const isPages = (value: unknown): value is readonly [number, string] =>
  Array.isArray(value) && isCount(value[0]) && isText(value[1]);

const format = messageFormat<LinkPiece>({
  cluster: isText,
  last: isCount,
  isCurrent: isFlag,
  number: isCount,
  codes: listOf(isCount),
  blocks: listOf(isBlock),
  part: (value): value is LinkPiece['part'] => value === undefined || isCountPair(value),
  pagesNumber: isCount,
  pages: listOf(isPages),
  totalsNext: isCount,
  totals: listOf(isCountPair),
});

export const encodePiece = format.encode;

/** @throws LinkPieceError */
export function decodePiece(bytes: Uint8Array): LinkPiece {
  const piece = format.read(bytes);
  if (piece !== undefined) return piece;
  throw new LinkPieceError('Cannot read links: the answer has other fields than a piece of links');
}
