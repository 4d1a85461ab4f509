/**
 * Lists of codes, newest or oldest first, from the term index.
 *
 *   one term            total by counting its keys, 35 ns each, page by range
 *   several terms       walk the rarest term, look the others up; count the matches
 *   a search, a status  the same, and read each record: 5 µs a code, 0.5 s for 100,000
 *
 * A walk runs in slices of 1 to 2 ms. Totals are cached until the workspace's codes change. A cursor is the position of
 * the last item, so a deep page costs no more than the first.
 *
 * A code with a damaged record is left out and counted as `unreadable`: those of the page, and all that a search could not
 * read. A total by terms includes them, because the index has them.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import type { Clock } from '../../../model/clock.ts';
import {
  type CodeSort,
  type CodeStatus,
  codeStatusAt,
  type CodeType,
  type QrCodeRecord,
} from '../../../model/code.ts';
import { dayMs } from '../../../model/day.ts';
import { formatCursor, parseCursor } from '../../../model/cursor.ts';
import { Failure } from '../../../model/failure.ts';
import { parseId } from '../../../model/ids.ts';
import { tagKey } from '../../../model/fold.ts';
import {
  before,
  endOf,
  isEarlier,
  positionOf,
  termKey,
  type ListPosition,
  type Term,
} from '../../../store/management/code-keys.ts';
import { unpackCode } from '../../../store/management/code-codec.ts';
import type { Management } from '../../../store/management/management.ts';
import { tagLengthMax } from '../rules.ts';
import { hasWord, searchText, searchWords } from './search-text.ts';
import { allCodes, formTerm, listVersion, termCount } from './terms.ts';
import type { CodeNo, WorkspaceNo } from '../../../model/numbers.ts';

/** Positions in one slice of a walk, at 1 to 6 µs each. */
const sliceMax = 300;
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

export interface ListingOptions {
  readonly store: Management;
  readonly clock: Clock;
  /** Lifetime scans of a code. */
  readonly scansOf: (codeNo: CodeNo) => number;
}

/** How a filter is answered: positions of `driver` in [oldest, newest] with `others`, status and text. */
interface Plan {
  readonly workspaceNo: WorkspaceNo;
  readonly driver: Term;
  readonly others: readonly Term[];
  /** Folded, the longest first; none = any text. */
  readonly words: readonly string[];
  readonly status: CodeStatus | undefined;
  readonly oldest: ListPosition;
  readonly newest: ListPosition;
  readonly isAscending: boolean;
  /** Numbers of codes that a search could not read. */
  readonly unreadable: Set<CodeNo>;
  /** The next time at which the status of a code that was read may change. */
  validUntilMs: number;
}

export class CodeListing {
  readonly #options: ListingOptions;
  readonly #store: Management;
  readonly #totals = new LRUCache<string, KnownTotal>({ max: totalsMax });
  /** One walk at a time, so that many take no more of the thread than one. */
  readonly #walkLock = pLimit(1);

  constructor(options: ListingOptions) {
    this.#options = options;
    this.#store = options.store;
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
    for await (const slice of this.#slices(plan, firstOf(plan))) {
      plan.unreadable.clear();
      const wanted = slice.filter((position) => this.#passes(plan, position));
      const { codes, unreadable } = this.#records(wanted);
      yield { codes, unreadable: unreadable + plan.unreadable.size };
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
    const counts = new Map(
      terms.map((term) => [term, terms.length > 1 ? termCount(this.#store, workspaceNo, term) : 0]),
    );
    const [driver = allCodes, ...others] = terms.toSorted(
      (one, other) => (counts.get(one) ?? 0) - (counts.get(other) ?? 0),
    );
    const fromMs = (filter.fromDay ?? 0) * dayMs;
    const toMs = filter.toDay === undefined ? undefined : (filter.toDay + 1) * dayMs - 1;
    return {
      workspaceNo,
      driver,
      others,
      words: searchWords(filter.search ?? ''),
      status: filter.status,
      oldest: { createdAtMs: fromMs, no: 0 },
      newest: toMs === undefined ? newest : endOf(toMs),
      isAscending: filter.sort === 'createdAt',
      unreadable: new Set(),
      validUntilMs: Infinity,
    };
  }

  #directPage(plan: Plan, from: ListPosition, skip: number, limit: number): Found {
    const total =
      this.#known(plan)?.total ??
      this.#remember(plan, listVersion(this.#store, plan.workspaceNo), this.#count(plan));
    const positions = skip >= total ? [] : this.#slice(plan, from, skip, limit + 1);
    return { positions, total, unreadable: 0 };
  }

  #count(plan: Plan): number {
    const { workspaceNo, driver } = plan;
    if (plan.newest.createdAtMs < plan.oldest.createdAtMs) return 0;
    const start = termKey(workspaceNo, driver, plan.oldest);
    // The end is excluded, and no code has the last number of a millisecond.
    return this.#store.codeTerms.count({ start, end: termKey(workspaceNo, driver, plan.newest) });
  }

  async #walkedPage(plan: Plan, from: ListPosition, skip: number, limit: number): Promise<Found> {
    // Reads the newest commit: the cached total may be outdated.
    this.#store.environment.refresh();
    const known = this.#known(plan);
    // Read before the walk: codes that change meanwhile make another version.
    const version = listVersion(this.#store, plan.workspaceNo);
    const isBeforePage = (position: ListPosition): boolean =>
      plan.isAscending ? isEarlier(position, from) : isEarlier(from, position);
    const positions: ListPosition[] = [];
    let [total, passed] = [0, 0];
    for await (const slice of this.#slices(plan, known === undefined ? firstOf(plan) : from)) {
      for (const position of slice) {
        if (!this.#passes(plan, position)) continue;
        total++;
        if (isBeforePage(position) || ++passed <= skip) continue;
        if (positions.length <= limit) positions.push(position);
        if (known !== undefined && positions.length > limit) return { positions, ...known };
      }
    }
    if (known !== undefined) return { positions, ...known };
    this.#remember(plan, version, total);
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

  /** Positions of the driver, in slices with other requests in between. */
  async *#slices(plan: Plan, from: ListPosition): AsyncGenerator<ListPosition[]> {
    for (let at = from; ;) {
      const slice = this.#slice(plan, at, 0, sliceMax);
      yield slice;
      const last = slice.at(-1);
      if (last === undefined || slice.length < sliceMax) return;
      at = beyond(plan, last);
      await yieldToEventLoop();
    }
  }

  #slice(plan: Plan, from: ListPosition, offset: number, limit: number): ListPosition[] {
    const { workspaceNo, driver, oldest, newest: last, isAscending } = plan;
    // The end of a range is excluded; no code is at `oldest` or `newest`, because numbers begin at 1.
    const keys = this.#store.codeTerms.keys({
      start: termKey(workspaceNo, driver, from),
      end: termKey(workspaceNo, driver, isAscending ? last : oldest),
      reverse: !isAscending,
      offset,
      limit,
    });
    return Array.from(keys, (key) => positionOf(key));
  }

  #passes(plan: Plan, position: ListPosition): boolean {
    const { codeTerms, codes } = this.#store;
    const { words, status } = plan;
    const all = plan.others.every((t) => codeTerms.has(termKey(plan.workspaceNo, t, position)));
    if (!all || (words.length === 0 && status === undefined)) return all;
    const packed = codes.get(position.no, () => 'damaged' as const);
    if (packed === 'damaged') plan.unreadable.add(position.no);
    if (packed === undefined || packed === 'damaged') return false;
    if (words.length > 0) {
      const text = searchText(packed);
      if (!words.every((word) => hasWord(text, word))) return false;
    }
    return status === undefined || this.#statusOf(plan, unpackCode(position.no, packed)) === status;
  }

  #statusOf(plan: Plan, { no, routing, expiresAtMs, scanLimit }: QrCodeRecord): CodeStatus {
    const { clock, scansOf } = this.#options;
    const bounds = { ...routing, expiresAtMs, scanLimit };
    const status = codeStatusAt(bounds, clock.now(), () => scansOf(no));
    const endMs = status === 'expired' ? Infinity : (expiresAtMs ?? Infinity);
    const startMs = status === 'not_started' ? (routing?.startsAtMs ?? Infinity) : Infinity;
    // Any scan may be the last one of a limited code.
    const limitMs = status === 'active' && scanLimit !== undefined ? 0 : Infinity;
    plan.validUntilMs = Math.min(plan.validUntilMs, endMs, startMs, limitMs);
    return status;
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

  #known(plan: Plan): { readonly total: number; readonly unreadable: number } | undefined {
    const known = this.#totals.get(nameOf(plan));
    if (known?.version !== listVersion(this.#store, plan.workspaceNo)) return undefined;
    if (this.#options.clock.now() >= known.validUntilMs) return undefined;
    return { total: known.total, unreadable: known.unreadable };
  }

  #remember(plan: Plan, version: number, total: number): number {
    const { unreadable, validUntilMs } = plan;
    this.#totals.set(nameOf(plan), { version, total, unreadable: unreadable.size, validUntilMs });
    return total;
  }
}

/** Of a filter; valid until the workspace's codes change, and for a status until a code's may. */
interface KnownTotal {
  readonly version: number;
  readonly total: number;
  readonly unreadable: number;
  readonly validUntilMs: number;
}

interface Found {
  /** One more than the limit when there is a next page. */
  readonly positions: readonly ListPosition[];
  readonly total: number;
  /** Codes that the search could not read. */
  readonly unreadable: number;
}

function nameOf(plan: Plan): string {
  const { workspaceNo, driver, others, words, status } = plan;
  const range = [plan.oldest.createdAtMs, plan.newest.createdAtMs];
  return JSON.stringify([workspaceNo, driver, others, words, status ?? null, range]);
}

const firstOf = ({ isAscending, oldest, newest: last }: Plan): ListPosition =>
  isAscending ? oldest : last;

/** Where the list continues after a position, which may belong to another filter. */
function beyond({ isAscending, oldest, newest: last }: Plan, at: ListPosition): ListPosition {
  if (isAscending) return isEarlier(at, oldest) ? oldest : { ...at, no: at.no + 1 };
  return isEarlier(last, before(at)) ? last : before(at);
}

function placeOf(cursor: string): ListPosition {
  const [createdAtMs = 0, no = 0] = parseCursor(cursor, 2);
  return { createdAtMs, no };
}
