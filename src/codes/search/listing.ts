/**
 * Lists of codes, newest or oldest first, from the term index.
 *
 *   one term            total from its counter (with days: counted keys, 35 ns each), page by range
 *   several terms       walk the rarest term, look the others up; count what passes
 *   a search            the same where the rarest term has few codes; else all texts of the workspace are
 *                       searched in memory (search-columns.ts), or walked where they do not fit
 *
 * A walk runs in slices, so a search through 100,000 codes never holds the thread longer than some
 * milliseconds at a time. What was counted is remembered until the workspace's codes change.
 * A cursor is the position of the last item: the next page costs the same at any depth.
 *
 * A code whose record is damaged is left out, and said to be: `unreadable` counts those of the page, and of a search those
 * that were to be looked through. A total by terms counts them, for the index has them.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import type { Clock } from '../../model/clock.ts';
import type { CodeSort, CodeStatus, CodeType, QrCodeRecord } from '../../model/code.ts';
import { dayMs } from '../../model/day.ts';
import { formatCursor, parseCursor } from '../../model/cursor.ts';
import { Failure } from '../../model/failure.ts';
import { parseId } from '../../model/ids.ts';
import { tagKey } from '../../model/fold.ts';
import {
  before,
  endOf,
  isEarlier,
  positionOf,
  termKey,
  type ListPosition,
  type Term,
} from '../../store/management/code-keys.ts';
import { unpackCode } from '../../store/management/code-codec.ts';
import type { Management } from '../../store/management/management.ts';
import { tagLengthMax } from '../rules.ts';
import { BoundsReader } from './bounds-reader.ts';
import type { SearchColumn } from './search-column.ts';
import { hasWord, searchText, searchWords } from './search-text.ts';
import { SearchColumns } from './search-columns.ts';
import { allCodes, formTerm, listVersion, termCount } from './terms.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

/** Positions one slice of a walk looks at: at 1–3 µs each, about 1 ms. */
const sliceMax = 500;
/** Default of SearchLimits. */
const walkedCodesMax = 1_000;
/** Remembered totals over all workspaces; each is about 200 bytes. */
const totalsMax = 1_000;
/** Searches that wait for others; one more is answered 503. */
const waitingMax = 64;
const newest: ListPosition = endOf(Number.MAX_SAFE_INTEGER);

export interface CodeFilter {
  /** Default newest first. */
  readonly sort?: CodeSort | undefined;
  readonly type?: CodeType | undefined;
  readonly campaignId?: string | undefined;
  /** Days of `createdAt` (model/day.ts), both included. */
  readonly fromDay?: number | undefined;
  readonly toDay?: number | undefined;
  /** Its words in name, target, short code, external id or id, in any order; case and accents do not count. */
  readonly search?: string | undefined;
  readonly tag?: string | undefined;
  readonly dynamic?: boolean | undefined;
  readonly status?: CodeStatus | undefined;
}

export interface CodePageRequest {
  readonly filter: CodeFilter;
  readonly limit: number;
  /** From 1; not together with `cursor`, which wins. */
  readonly page?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface CodePage {
  readonly data: QrCodeRecord[];
  readonly total: number;
  /** Codes that are left out, because their record is damaged. */
  readonly unreadable: number;
  /** Absent on the last page. */
  readonly nextCursor?: string;
}

/** Some of a list. */
export interface CodeSlice {
  readonly codes: QrCodeRecord[];
  /** As that of a page. */
  readonly unreadable: number;
}

export interface SearchLimits {
  /** Memory for the texts of all workspaces; 0 = every search walks. */
  readonly bytesMax: number;
  /** A search walks a term of so few codes; default 1,000, about 5 ms. */
  readonly walkedCodesMax?: number;
}

export interface ListingOptions {
  readonly store: Management;
  readonly clock: Clock;
  /** Lifetime scans of a code. */
  readonly scansOf: (codeNo: CodeNo) => number;
  /** Absent = every search walks. */
  readonly search?: SearchLimits | undefined;
}

/** What a filter comes to: positions of `driver` in [oldest, newest], that have `others`, status and text. */
interface Plan {
  readonly workspaceNo: WorkspaceNo;
  readonly driver: Term;
  /** Codes that have the driver. */
  readonly driverCount: number;
  readonly others: readonly Term[];
  /** Folded, the longest first; none = any text. */
  readonly words: readonly string[];
  readonly status: CodeStatus | undefined;
  readonly oldest: ListPosition;
  readonly newest: ListPosition;
  readonly wholeTime: boolean;
  readonly isAscending: boolean;
  /** Numbers of codes that a search could not look into. */
  readonly unreadable: Set<CodeNo>;
}

export class CodeListing {
  readonly #options: ListingOptions;
  readonly #store: Management;
  readonly #columns: SearchColumns;
  readonly #walkedCodesMax: number;
  readonly #totals = new LRUCache<string, KnownTotal>({ max: totalsMax });
  /** Walks come one after the other: together they hold the thread no longer than one does. */
  readonly #walkLock = pLimit(1);

  constructor(options: ListingOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#columns = new SearchColumns(options.store, options.search?.bytesMax ?? 0);
    this.#walkedCodesMax = options.search?.walkedCodesMax ?? walkedCodesMax;
  }

  async page(workspaceNo: WorkspaceNo, request: CodePageRequest): Promise<CodePage> {
    const cursor = request.cursor === undefined ? undefined : placeOf(request.cursor);
    const plan = this.#plan(workspaceNo, request.filter);
    if (plan === undefined) return { data: [], total: 0, unreadable: 0 };
    const from = cursor === undefined ? firstOf(plan) : beyond(plan, cursor);
    const skip = cursor === undefined ? ((request.page ?? 1) - 1) * request.limit : 0;
    const { others, words, status } = plan;
    const direct = others.length === 0 && words.length === 0 && status === undefined;
    const found = direct
      ? this.#directPage(plan, from, skip, request.limit)
      : await this.#locked(async () => await this.#walkedPage(plan, from, skip, request.limit));
    const last = found.positions[request.limit - 1];
    const slice = this.#records(found.positions.slice(0, request.limit));
    const unreadable = slice.unreadable + found.unreadable;
    const shown = { data: slice.codes, total: found.total, unreadable };
    return found.positions.length > request.limit && last !== undefined
      ? { ...shown, nextCursor: formatCursor(last.createdAtMs, last.no) }
      : shown;
  }

  /** Every code of the filter, in its order, in slices; one that is made meanwhile is not among them. */
  async *all(workspaceNo: WorkspaceNo, filter: CodeFilter): AsyncGenerator<CodeSlice> {
    const plan = this.#plan(workspaceNo, filter);
    if (plan === undefined) return;
    for (let at = firstOf(plan); ;) {
      const slice = this.#slice(plan, at, 0, sliceMax);
      const bounds = new BoundsReader(this.#options);
      plan.unreadable.clear();
      const wanted = slice.filter((position) => this.#passes(plan, bounds, position));
      const { codes, unreadable } = this.#records(wanted);
      yield { codes, unreadable: unreadable + plan.unreadable.size };
      const last = slice[slice.length - 1];
      if (last === undefined || slice.length < sliceMax) return;
      at = beyond(plan, last);
      await yieldToEventLoop();
    }
  }

  #plan(workspaceNo: WorkspaceNo, filter: CodeFilter): Plan | undefined {
    const form = formTerm(filter.type, filter.dynamic);
    if (form === null) return undefined;
    // No code has a tag this long or a campaign with such an id; as keys they would not even fit.
    if ((filter.tag?.length ?? 0) > tagLengthMax) return undefined;
    const { campaignId } = filter;
    if (campaignId !== undefined && parseId('cmp', campaignId) === undefined) return undefined;
    const terms: Term[] = form === undefined ? [] : [form];
    if (filter.tag !== undefined) terms.push({ kind: 'tag', text: tagKey(filter.tag) });
    if (campaignId !== undefined) terms.push({ kind: 'campaign', text: campaignId });
    const ranked = terms
      .map((term) => ({ term, count: termCount(this.#store, workspaceNo, term) }))
      .sort((one, other) => one.count - other.count);
    if (ranked[0]?.count === 0) return undefined;
    const fromMs = (filter.fromDay ?? 0) * dayMs;
    const toMs = filter.toDay === undefined ? undefined : (filter.toDay + 1) * dayMs - 1;
    return {
      workspaceNo,
      driver: ranked[0]?.term ?? allCodes,
      driverCount: ranked[0]?.count ?? termCount(this.#store, workspaceNo, allCodes),
      others: ranked.slice(1).map(({ term }) => term),
      words: searchWords(filter.search ?? ''),
      status: filter.status,
      oldest: { createdAtMs: fromMs, no: 0 },
      newest: toMs === undefined ? newest : endOf(toMs),
      wholeTime: fromMs === 0 && toMs === undefined,
      isAscending: filter.sort === 'createdAt',
      unreadable: new Set(),
    };
  }

  #directPage(plan: Plan, from: ListPosition, skip: number, limit: number): Found {
    const total = plan.wholeTime
      ? termCount(this.#store, plan.workspaceNo, plan.driver)
      : (this.#known(plan)?.total ??
        this.#remember(plan, this.#version(plan.workspaceNo), this.#count(plan)));
    const positions = skip >= total ? [] : this.#slice(plan, from, skip, limit + 1);
    return { positions, total, unreadable: 0 };
  }

  #count(plan: Plan): number {
    const { workspaceNo, driver } = plan;
    if (plan.newest.createdAtMs < plan.oldest.createdAtMs) return 0;
    const start = termKey(workspaceNo, driver, plan.oldest);
    // The end is excluded and nothing stands at the last number of a millisecond.
    return this.#store.codeTerms.count({ start, end: termKey(workspaceNo, driver, plan.newest) });
  }

  async #walkedPage(plan: Plan, from: ListPosition, skip: number, limit: number): Promise<Found> {
    // Reads the newest commit: what is known may be outdated.
    this.#store.environment.refresh();
    const known = this.#known(plan);
    // Taken before the walk: codes that change meanwhile make another version.
    const version = this.#version(plan.workspaceNo);
    const positions: ListPosition[] = [];
    const bounds = new BoundsReader(this.#options);
    let matches = 0;
    await this.#walk(plan, bounds, from, (position) => {
      matches++;
      if (matches > skip && positions.length <= limit) positions.push(position);
      return known !== undefined && positions.length > limit ? 'stop' : 'go on';
    });
    if (known !== undefined) return { positions, ...known };
    if (from !== firstOf(plan)) {
      matches = 0;
      await this.#walk(plan, bounds, firstOf(plan), () => {
        matches++;
        return 'go on';
      });
    }
    const total = this.#remember(plan, version, matches, bounds.holdsUntilMs);
    return { positions, total, unreadable: plan.unreadable.size };
  }

  /** @throws Failure overloaded */
  async #locked(walk: () => Promise<Found>): Promise<Found> {
    const { activeCount, pendingCount } = this.#walkLock;
    if (activeCount + pendingCount >= waitingMax) {
      const detail = 'Too many searches at a time';
      throw new Failure('overloaded', detail, { retryAfterSeconds: 1 });
    }
    return await this.#walkLock(walk);
  }

  /** Visits what passes the plan from `from` on, a slice at a time. */
  async #walk(
    plan: Plan,
    bounds: BoundsReader,
    from: ListPosition,
    visit: (position: ListPosition) => 'go on' | 'stop',
  ): Promise<void> {
    const { words, oldest } = plan;
    const column = await this.#columnFor(plan);
    if (column !== undefined) {
      for (const no of column.unreadable) plan.unreadable.add(no);
      const terms = [plan.driver, ...plan.others].filter(({ kind }) => kind !== 'all');
      await column.walk({ words, terms, newest: from, oldest }, (position) =>
        bounds.isIn(plan.status, position.no) ? visit(position) : 'go on',
      );
      return;
    }
    let at = from;
    for (;;) {
      const slice = this.#slice(plan, at, 0, sliceMax);
      for (const position of slice) {
        if (this.#passes(plan, bounds, position) && visit(position) === 'stop') return;
      }
      const last = slice[slice.length - 1];
      if (last === undefined || slice.length < sliceMax) return;
      at = beyond(plan, last);
      await yieldToEventLoop();
    }
  }

  /** Undefined where walking is less work, or the only way. */
  async #columnFor(plan: Plan): Promise<SearchColumn | undefined> {
    const { workspaceNo, words, driver, driverCount, others } = plan;
    // A column is in the order of the newest.
    if (words.length === 0 || plan.isAscending) return undefined;
    // A campaign has at most 1,000 codes: a column does not know them.
    const isOfCampaign = [driver, ...others].some(({ kind }) => kind === 'campaign');
    if (isOfCampaign || driverCount <= this.#walkedCodesMax) return undefined;
    return await this.#columns.find(workspaceNo);
  }

  #slice(plan: Plan, from: ListPosition, offset: number, limit: number): ListPosition[] {
    const { workspaceNo, driver, oldest, newest: last, isAscending } = plan;
    // The end of a range is excluded; nothing stands at `oldest` or `newest`, for codes are numbered from 1.
    const keys = this.#store.codeTerms.keys({
      start: termKey(workspaceNo, driver, from),
      end: termKey(workspaceNo, driver, isAscending ? last : oldest),
      reverse: !isAscending,
      offset,
      limit,
    });
    return Array.from(keys, (key) => positionOf(key));
  }

  #passes(plan: Plan, bounds: BoundsReader, position: ListPosition): boolean {
    const { codeTerms, codes } = this.#store;
    if (!bounds.isIn(plan.status, position.no)) return false;
    const all = plan.others.every((t) => codeTerms.has(termKey(plan.workspaceNo, t, position)));
    if (!all || plan.words.length === 0) return all;
    const packed = codes.get(position.no, () => 'damaged' as const);
    if (packed === 'damaged') plan.unreadable.add(position.no);
    if (packed === undefined || packed === 'damaged') return false;
    // On the packed form: making a record of each code would double the time of a search.
    const text = searchText(packed);
    return plan.words.every((word) => hasWord(text, word));
  }

  #records(positions: readonly ListPosition[]): CodeSlice {
    const codes: QrCodeRecord[] = [];
    let unreadable = 0;
    for (const { no } of positions) {
      const packed = this.#store.codes.get(no, () => 'damaged' as const);
      if (packed === 'damaged') unreadable++;
      // Deleted since its slice was read.
      if (packed === undefined || packed === 'damaged') continue;
      const code = unpackCode(no, packed);
      if (code.deletedAtMs === undefined) codes.push(code);
    }
    return { codes, unreadable };
  }

  #version(workspaceNo: WorkspaceNo): number {
    return termCount(this.#store, workspaceNo, listVersion);
  }

  #known(plan: Plan): { readonly total: number; readonly unreadable: number } | undefined {
    const known = this.#totals.get(nameOf(plan));
    if (known?.version !== this.#version(plan.workspaceNo)) return undefined;
    if (this.#options.clock.now() >= known.holdsUntilMs) return undefined;
    return { total: known.total, unreadable: known.unreadable };
  }

  #remember(plan: Plan, version: number, total: number, holdsUntilMs = Infinity): number {
    const unreadable = plan.unreadable.size;
    this.#totals.set(nameOf(plan), { version, total, unreadable, holdsUntilMs });
    return total;
  }
}

/** Of a filter; holds until the workspace's codes change, and for a status until a code's may. */
interface KnownTotal {
  readonly version: number;
  readonly total: number;
  readonly unreadable: number;
  readonly holdsUntilMs: number;
}

interface Found {
  /** One more than the limit when there is a next page. */
  readonly positions: readonly ListPosition[];
  readonly total: number;
  /** That could not be looked into. */
  readonly unreadable: number;
}

function nameOf(plan: Plan): string {
  const { workspaceNo, driver, others, words, status } = plan;
  const range = [plan.oldest.createdAtMs, plan.newest.createdAtMs];
  return JSON.stringify([workspaceNo, driver, others, words, status ?? null, range]);
}

const firstOf = ({ isAscending, oldest, newest: last }: Plan): ListPosition =>
  isAscending ? oldest : last;

/** Where the list goes on behind a position, which may be one of another filter. */
function beyond({ isAscending, oldest, newest: last }: Plan, at: ListPosition): ListPosition {
  if (isAscending) return isEarlier(at, oldest) ? oldest : { ...at, no: at.no + 1 };
  return isEarlier(last, before(at)) ? last : before(at);
}

function placeOf(cursor: string): ListPosition {
  const [createdAtMs = 0, no = 0] = parseCursor(cursor, 2);
  return { createdAtMs, no };
}
