/**
 * Links for edges, on a core: an edge asks for what it lacks, again and again, and gets a piece of it (link-piece.ts).
 *
 *   GET /cluster/links?cluster=<id>&number=<of its last change>&codes=<of the last changes>&pages=<number>&totals=<number>
 *                                                                    Authorization: Bearer <token of the edge>
 *
 *     the changes after that number are stored   some of them, with the blocks of their codes as they are now
 *     else, or without it                        a part of all blocks; the edge asks for the others with next=<block>
 *     nothing is new                             the answer waits for the next change, half a second at most
 *
 * Links change while an edge gets all of them: what changes after the first part follows by its number. So a core stores
 * nothing about an edge, and a slow one costs no more than the piece that it reads.
 */
import { problemReply } from '../../api/kernel/problem.ts';
import type { Reply, Request } from '../../platform/uws/request.ts';
import type { Clock } from '../../model/clock.ts';
import { Failure } from '../../model/failure.ts';
import type { CodeNo } from '../../model/numbers.ts';
import { Signal } from '../../model/signal.ts';
import { linkBlockOf } from '../../engine/links/link-blocks.ts';
import { linkChangesOf } from '../../store/management/link-changes.ts';
import { readLinkBlock } from '../../engine/links/link-repair.ts';
import type { Management } from '../../store/management/management.ts';
import { pagesChangedAfter } from '../../store/management/pages.ts';
import {
  blocksEnd,
  codesShown,
  encodePiece,
  type LinkPiece,
  type LinkPosition,
} from './link-piece.ts';

const feedPath = '/cluster/links';
const headers = { 'Content-Type': 'application/octet-stream', 'Cache-Control': 'no-store' };
const beatMs = 500;
/** Changes in a piece: with their blocks 1 ms. */
const changesMax = 500;
/**
 * Bytes after which the blocks of a piece end: about 700 blocks, 4 ms. With one block of the largest programs behind it a
 * piece has 3.7 MB; without this bound 500 changes could have 1.3 GB, and the edge would wait too long.
 */
const blockBytesMax = 1_048_576;
const pagesBytesMax = 262_144;
/** At least as many as there are codes in the blocks of a part: with the last part the edge has all of them. */
const totalsMax = 16_384;
const partBlocksMax = 1_024;

/** The list of changed totals may have so many codes more than twice once. */
const repeatedMax = 10_000;
const microseconds = 1_000;

type Totals = Iterable<readonly [codeNo: CodeNo, scans: number]>;

export interface LinkFeedOptions {
  readonly store: Management;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** The cluster that gave the numbers of this store; another one after its data was restored from a copy. */
  readonly cluster: () => string;
  readonly isLeading: () => boolean;
  /** The core leads, or follows the leader closely. */
  readonly isCurrent: () => boolean;
  /** Whether an edge of this cluster has that token. */
  readonly isEdge: (token: string) => boolean;
  /** Of each limited code, the scans that are counted. */
  readonly limitedTotals: () => Totals;
  /** Where problems are explained. */
  readonly docsUrl: string;
}

/** What an edge has, and so need not get. */
interface Question {
  /** Undefined if the edge has no links of this cluster. */
  readonly position: Pick<LinkPosition, 'number' | 'codes'> | undefined;
  /** It has the parts before this block, which began at the number. */
  readonly next: number | undefined;
  readonly pages: number;
  readonly totals: number;
}

type Links = Pick<LinkPiece, 'number' | 'codes' | 'blocks' | 'part'>;

export class LinkFeed {
  readonly #options: LinkFeedOptions;
  readonly #totals: LimitedTotals;
  readonly #unlisten: () => void;
  /** The last change has another number, or the feed is closed. */
  readonly #moved = new Signal();
  #last: number;
  /** Edges at the same number share what was read. */
  #read: (Links & { readonly after: number }) | undefined;
  #isClosed = false;

  constructor(options: LinkFeedOptions) {
    const { store } = options;
    this.#options = options;
    this.#totals = new LimitedTotals(options);
    this.#last = store.last('link');
    this.#unlisten = store.environment.committed.listen(() => this.#refresh());
  }

  /** Undefined for another request. */
  reply(request: Request): Promise<Reply> | undefined {
    const { method, path } = request;
    return method === 'GET' && path === feedPath ? this.#answer(request) : undefined;
  }

  close(): void {
    this.#isClosed = true;
    this.#unlisten();
    this.#moved.fire();
  }

  async #answer(request: Request): Promise<Reply> {
    this.#refresh();
    const question = this.#questionOf(request);
    if (question instanceof Failure) return problemReply(question, request, this.#options.docsUrl);
    let piece = this.#piece(question);
    if (isEmpty(piece)) {
      await this.#nextBeat();
      piece = this.#piece(question);
    }
    return { status: 200, headers, body: encodePiece(piece) };
  }

  #refresh(): void {
    const { store } = this.#options;
    store.environment.refresh();
    const last = store.last('link');
    if (last === this.#last) return;
    this.#last = last;
    this.#moved.fire();
  }

  #questionOf(request: Request): Question | Failure {
    const [, token = ''] = /^Bearer (\S+)$/.exec(request.header('authorization') ?? '') ?? [];
    if (!this.#options.isEdge(token)) {
      return new Failure('unauthorized', 'The token is not one of an edge of this cluster');
    }
    const soon = { retryAfterSeconds: 1 };
    if (this.#isClosed)
      return new Failure('not_active', 'This core stops, or begins to lead', soon);
    const parameters = new URLSearchParams(request.query);
    const number = countIn(parameters, 'number');
    const isOfCluster = parameters.get('cluster') === this.#options.cluster();
    const codes = (parameters.get('codes') ?? '').split(' ').filter(Boolean).map(Number);
    const position = isOfCluster && number !== undefined ? { number, codes } : undefined;
    // A standby may be behind the core that the edge followed. The cluster has lost a change that its leader lacks.
    if (position !== undefined && position.number > this.#last && !this.#options.isLeading()) {
      return new Failure('not_active', 'This core does not lead, and is behind the edge', soon);
    }
    return {
      position,
      next: countIn(parameters, 'next'),
      pages: countIn(parameters, 'pages') ?? 0,
      totals: countIn(parameters, 'totals') ?? 0,
    };
  }

  /** Resolves at the next change, or after half a second. */
  async #nextBeat(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const unlisten = this.#moved.listen(resolve);
    const timer = setTimeout(resolve, beatMs);
    await promise;
    clearTimeout(timer);
    unlisten();
  }

  #piece(question: Question): LinkPiece {
    const { cluster, isCurrent } = this.#options;
    this.#refresh();
    const links = this.#links(question);
    return {
      cluster: cluster(),
      last: this.#last,
      isCurrent: isCurrent(),
      ...links,
      ...this.#pagesAfter(links.part?.[0] === 0 ? 0 : question.pages),
      ...this.#totals.since(question.totals, totalsMax),
    };
  }

  #links({ position, next }: Question): Links {
    const isFollowed = position !== undefined && this.#follows(position);
    if (isFollowed && next !== undefined) return this.#part(next, position.number);
    const changes = isFollowed ? this.#changesAfter(position.number) : undefined;
    return changes ?? this.#part(0, this.#last);
  }

  /** Whether the last changes up to the number were of these codes: after a restore, numbers belong to other changes. */
  #follows({ number, codes }: Pick<LinkPosition, 'number' | 'codes'>): boolean {
    const { linkChanges } = this.#options.store.bulk;
    const isOf = (codeNo: CodeNo, back: number): boolean =>
      (linkChanges.get(number - back, () => undefined) ?? codeNo) === codeNo;
    return number <= this.#last && codes.every(isOf);
  }

  /** The first of them; undefined if one is missing or damaged. */
  #changesAfter(number: number): Links | undefined {
    if (number === this.#last) return { number, codes: [], blocks: [], part: undefined };
    if (this.#read?.after === number) return this.#read;
    const { store } = this.#options;
    const changes = linkChangesOf(store, number + 1, Math.min(this.#last, number + changesMax));
    if (changes === undefined) return undefined;
    const blocks = new Map<number, Uint8Array | undefined>();
    const codes: CodeNo[] = [];
    let bytes = 0;
    for (const codeNo of changes.values()) {
      const blockNo = linkBlockOf(codeNo);
      if (!blocks.has(blockNo)) {
        if (bytes >= blockBytesMax) break;
        const block = readLinkBlock(store, blockNo);
        blocks.set(blockNo, block);
        bytes += block?.length ?? 0;
      }
      codes.push(codeNo);
    }
    const links = { number: number + codes.length, codes, blocks: known(blocks), part: undefined };
    this.#read = { after: number, ...links };
    return links;
  }

  /** Blocks from `from` on, as many as a piece has. @param number that the first part had */
  #part(from: number, number: number): Links {
    const { store } = this.#options;
    const blocks = new Map<number, Uint8Array | undefined>();
    let bytes = 0;
    const add = (blockNo: number, block: Uint8Array | undefined): void => {
      blocks.set(blockNo, block);
      bytes += block?.length ?? 0;
    };
    let next = blocksEnd;
    const repaired = (blockNo: number): void => add(blockNo, readLinkBlock(store, blockNo));
    for (const { key, value } of store.links.range({ start: from }, repaired)) {
      if (bytes >= blockBytesMax || blocks.size >= partBlocksMax) {
        next = key;
        break;
      }
      add(key, value);
    }
    const changes = linkChangesOf(store, Math.max(1, number - codesShown + 1), number);
    const codes = [...(changes?.values() ?? [])];
    return { number, codes, blocks: known(blocks), part: [from, next] };
  }

  #pagesAfter(number: number): Pick<LinkPiece, 'pagesNumber' | 'pages'> {
    const { store } = this.#options;
    const changed: Array<readonly [number, string]> = [];
    let bytes = 0;
    for (const { change, workspaceNo, pages } of pagesChangedAfter(store.pages, number)) {
      const json = JSON.stringify(pages);
      changed.push([workspaceNo, json]);
      bytes += json.length;
      if (bytes >= pagesBytesMax) return { pagesNumber: change, pages: changed };
    }
    return { pagesNumber: store.last('pages'), pages: changed };
  }
}

const isEmpty = ({ part, codes, pages, totals }: LinkPiece): boolean =>
  part === undefined && codes.length + pages.length + totals.length === 0;

const known = (blocks: ReadonlyMap<number, Uint8Array | undefined>): LinkPiece['blocks'] =>
  [...blocks].flatMap(([no, bytes]) => (bytes === undefined ? [] : [[no, bytes] as const]));

function countIn(parameters: URLSearchParams, name: string): number | undefined {
  const text = parameters.get(name) ?? '';
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/**
 * The counted scans of limited codes, for many edges: read from time to time. A code is listed again when its scans have
 * changed; an edge asks for what is listed since its last question.
 */
class LimitedTotals {
  readonly #options: Pick<LinkFeedOptions, 'limitedTotals' | 'clock'>;
  #totals: ReadonlyMap<CodeNo, number> = new Map();
  /** The newest is the last. */
  #listed: CodeNo[] = [];
  /** Number of the first one. Above all numbers of an earlier list on this machine. */
  #first: number;
  #readMs = -Infinity;

  constructor(options: Pick<LinkFeedOptions, 'limitedTotals' | 'clock'>) {
    this.#options = options;
    this.#first = Math.floor(options.clock.monotonicMs() * microseconds);
  }

  /** @param from the caller's last `totalsNext`; of another list = all @returns some of what it lacks */
  since(from: number, max: number): Pick<LinkPiece, 'totalsNext' | 'totals'> {
    if (this.#options.clock.monotonicMs() - this.#readMs >= beatMs) this.#readAll();
    const end = this.#first + this.#listed.length;
    const start = from >= this.#first && from <= end ? from - this.#first : 0;
    const codes = new Set(this.#listed.slice(start, start + max));
    return {
      totalsNext: Math.min(this.#first + start + max, end),
      totals: Array.from(codes, (no) => [no, this.#totals.get(no) ?? 0] as const),
    };
  }

  #readAll(): void {
    const { limitedTotals, clock } = this.#options;
    this.#readMs = clock.monotonicMs();
    const totals = new Map(limitedTotals());
    for (const [no, scans] of totals) if (this.#totals.get(no) !== scans) this.#listed.push(no);
    this.#totals = totals;
    if (this.#listed.length <= 2 * totals.size + repeatedMax) return;
    this.#first += this.#listed.length;
    this.#listed = [...totals.keys()];
  }
}
