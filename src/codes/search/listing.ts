/**
 * Lists of codes, newest first, from the term index.
 *
 *   one term            total from its counter (with days: counted keys, 35 ns each), page by range
 *   several terms       walk the rarest term, look the others up; count what passes
 *   a search            the same where the rarest term has few codes; else all texts of the workspace are
 *                       looked through in memory (search-columns.ts), or walked where they have no room
 *
 * A walk runs in slices, so a search through 100,000 codes never holds the thread longer than some
 * milliseconds at a time. What was counted is remembered until the workspace's codes change.
 * A cursor is the position of the last item: the next page costs the same at any depth.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { CodeType, QrCodeRecord } from '../../model/code.ts';
import { dayMs } from '../../model/day.ts';
import { Failure } from '../../model/failure.ts';
import { parseId } from '../../model/ids.ts';
import {
  before,
  endOf,
  positionOf,
  termCountKey,
  termKey,
  type ListPosition,
  type Term,
} from '../../store/management/code-keys.ts';
import { unpackCode, type PackedCode } from '../../store/management/code-codec.ts';
import type { Management } from '../../store/management/management.ts';
import { tagLengthMax } from '../rules.ts';
import type { SearchColumn } from './search-column.ts';
import { SearchColumns } from './search-columns.ts';
import { allCodes, formTerm, listVersion, termCount } from './terms.ts';

/** Positions one slice of a walk looks at: at 1–3 µs each, about 1 ms. */
const sliceMax = 500;
/** Default of SearchLimits. */
const walkedCodesMax = 1_000;
/** Remembered totals over all workspaces; each is about 200 bytes. */
const totalsMax = 1_000;
/** Searches that wait for their turn; one more is answered 503. */
const waitingMax = 64;
const cursorPattern = /^[A-Za-z0-9_-]{14}$/;
const cursorTimeBytes = 6;
const newest: ListPosition = endOf(Number.MAX_SAFE_INTEGER);

export interface CodeFilter {
  readonly type?: CodeType | undefined;
  readonly campaignId?: string | undefined;
  /** Days of `createdAt` (model/day.ts), both included. */
  readonly fromDay?: number | undefined;
  readonly toDay?: number | undefined;
  /** In name, target, short code, external id or id; case does not count. */
  readonly search?: string | undefined;
  readonly tag?: string | undefined;
  readonly dynamic?: boolean | undefined;
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
  /** Absent on the last page. */
  readonly nextCursor?: string;
}

export interface SearchLimits {
  /** Memory for the texts of all workspaces; 0 = every search walks. */
  readonly bytesMax: number;
  /** A search walks a term of so few codes; default 1,000, about 5 ms. */
  readonly walkedCodesMax?: number;
}

/** What a filter comes to: positions of `driver` in [oldest, newest], that have `others` and the text. */
interface Plan {
  readonly workspaceNo: number;
  readonly driver: Term;
  /** Codes that have the driver. */
  readonly driverCount: number;
  readonly others: readonly Term[];
  readonly search: string | undefined;
  readonly oldest: ListPosition;
  readonly newest: ListPosition;
  readonly wholeTime: boolean;
}

export class CodeListing {
  readonly #store: Management;
  readonly #columns: SearchColumns;
  readonly #walkedCodesMax: number;
  readonly #totals = new Map<string, { readonly version: number; readonly total: number }>();
  #turn: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(store: Management, search: SearchLimits = { bytesMax: 0 }) {
    this.#store = store;
    this.#columns = new SearchColumns(store, search.bytesMax);
    this.#walkedCodesMax = search.walkedCodesMax ?? walkedCodesMax;
  }

  async page(workspaceNo: number, request: CodePageRequest): Promise<CodePage> {
    const cursor = request.cursor === undefined ? undefined : parseCursor(request.cursor);
    const plan = this.#plan(workspaceNo, request.filter);
    if (plan === undefined) return { data: [], total: 0 };
    const from = cursor === undefined ? plan.newest : earlier(plan.newest, before(cursor));
    const skip = cursor === undefined ? ((request.page ?? 1) - 1) * request.limit : 0;
    const direct = plan.others.length === 0 && plan.search === undefined;
    const found = direct
      ? this.#directPage(plan, from, skip, request.limit)
      : await this.#inTurn(async () => await this.#walkedPage(plan, from, skip, request.limit));
    const last = found.positions[request.limit - 1];
    const data = this.#records(found.positions.slice(0, request.limit));
    return found.positions.length > request.limit && last !== undefined
      ? { data, total: found.total, nextCursor: formatCursor(last) }
      : { data, total: found.total };
  }

  /** Every code of the filter, newest first, in slices; one that is made meanwhile is not among them. */
  async *all(workspaceNo: number, filter: CodeFilter): AsyncGenerator<QrCodeRecord[]> {
    const plan = this.#plan(workspaceNo, filter);
    if (plan === undefined) return;
    for (let at = plan.newest; ;) {
      const slice = this.#slice(plan, at, 0, sliceMax);
      const wanted = slice.filter((position) => this.#passes(plan, position));
      if (wanted.length > 0) yield this.#records(wanted);
      const last = slice[slice.length - 1];
      if (last === undefined || slice.length < sliceMax) return;
      at = before(last);
      await yieldToEventLoop();
    }
  }

  #plan(workspaceNo: number, filter: CodeFilter): Plan | undefined {
    const form = formTerm(filter.type, filter.dynamic);
    if (form === null) return undefined;
    // No code has a tag this long or a campaign that is no id; as keys they would not even fit.
    if ((filter.tag?.length ?? 0) > tagLengthMax) return undefined;
    const { campaignId } = filter;
    if (campaignId !== undefined && parseId('cmp', campaignId) === undefined) return undefined;
    const terms: Term[] = form === undefined ? [] : [form];
    if (filter.tag !== undefined) terms.push({ kind: 'tag', text: filter.tag });
    if (campaignId !== undefined) terms.push({ kind: 'campaign', text: campaignId });
    const ranked = terms
      .map((term) => ({ term, count: termCount(this.#store, workspaceNo, term) }))
      .sort((one, other) => one.count - other.count);
    if (ranked[0]?.count === 0) return undefined;
    const search = filter.search?.toLowerCase();
    const fromMs = (filter.fromDay ?? 0) * dayMs;
    const toMs = filter.toDay === undefined ? undefined : (filter.toDay + 1) * dayMs - 1;
    return {
      workspaceNo,
      driver: ranked[0]?.term ?? allCodes,
      driverCount: ranked[0]?.count ?? termCount(this.#store, workspaceNo, allCodes),
      others: ranked.slice(1).map(({ term }) => term),
      search: search === '' ? undefined : search,
      oldest: { createdAtMs: fromMs, no: 0 },
      newest: toMs === undefined ? newest : endOf(toMs),
      wholeTime: fromMs === 0 && toMs === undefined,
    };
  }

  #directPage(plan: Plan, from: ListPosition, skip: number, limit: number): Found {
    const total = plan.wholeTime
      ? termCount(this.#store, plan.workspaceNo, plan.driver)
      : (this.#knownTotal(plan) ??
        this.#remember(plan, this.#version(plan.workspaceNo), this.#count(plan)));
    if (skip >= total) return { positions: [], total };
    return { positions: this.#slice(plan, from, skip, limit + 1), total };
  }

  #count(plan: Plan): number {
    const { workspaceNo, driver } = plan;
    if (plan.newest.createdAtMs < plan.oldest.createdAtMs) return 0;
    const start = termKey(workspaceNo, driver, plan.oldest);
    // The end is excluded and nothing stands at the last number of a millisecond.
    return this.#store.codeTerms.count({ start, end: termKey(workspaceNo, driver, plan.newest) });
  }

  async #walkedPage(plan: Plan, from: ListPosition, skip: number, limit: number): Promise<Found> {
    // Another process may have committed since: what is known may be so no longer.
    this.#store.environment.refresh();
    const known = this.#knownTotal(plan);
    // Taken before the walk: codes that change meanwhile make another version.
    const version = this.#version(plan.workspaceNo);
    const positions: ListPosition[] = [];
    let matches = 0;
    await this.#walk(plan, from, (position) => {
      matches++;
      if (matches > skip && positions.length <= limit) positions.push(position);
      return known !== undefined && positions.length > limit ? 'stop' : 'go on';
    });
    if (known !== undefined) return { positions, total: known };
    if (from !== plan.newest) {
      matches = 0;
      await this.#walk(plan, plan.newest, () => {
        matches++;
        return 'go on';
      });
    }
    return { positions, total: this.#remember(plan, version, matches) };
  }

  /** Walks come one after the other: together they hold the thread no longer than one does. */
  async #inTurn(walk: () => Promise<Found>): Promise<Found> {
    if (this.#waiting >= waitingMax) {
      const detail = 'Too many searches at a time';
      throw new Failure('overloaded', detail, { retryAfterSeconds: 1 });
    }
    this.#waiting++;
    const before = this.#turn;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#turn = promise;
    try {
      await before;
      return await walk();
    } finally {
      this.#waiting--;
      resolve();
    }
  }

  /** Visits what passes the plan from `from` down, a slice at a time. */
  async #walk(
    plan: Plan,
    from: ListPosition,
    visit: (position: ListPosition) => 'go on' | 'stop',
  ): Promise<void> {
    const { search, oldest } = plan;
    const column = await this.#columnFor(plan);
    if (column !== undefined && search !== undefined) {
      const terms = [plan.driver, ...plan.others].filter(({ kind }) => kind !== 'all');
      await column.walk({ search, terms, newest: from, oldest }, visit);
      return;
    }
    let at = from;
    for (;;) {
      const slice = this.#slice(plan, at, 0, sliceMax);
      for (const position of slice) {
        if (this.#passes(plan, position) && visit(position) === 'stop') return;
      }
      const last = slice[slice.length - 1];
      if (last === undefined || slice.length < sliceMax) return;
      at = before(last);
      await yieldToEventLoop();
    }
  }

  /** Undefined where walking is less work, or the only way. */
  async #columnFor(plan: Plan): Promise<SearchColumn | undefined> {
    const { workspaceNo, search, driver, driverCount, others } = plan;
    if (search === undefined || search.includes('\0')) return undefined;
    // A campaign has at most 1,000 codes: a column does not know them.
    const isOfCampaign = [driver, ...others].some(({ kind }) => kind === 'campaign');
    if (isOfCampaign || driverCount <= this.#walkedCodesMax) return undefined;
    return await this.#columns.find(workspaceNo);
  }

  #slice(plan: Plan, from: ListPosition, offset: number, limit: number): ListPosition[] {
    const { workspaceNo, driver, oldest } = plan;
    // The end of a range is excluded; codes are numbered from 1, so nothing stands at `oldest`.
    const keys = this.#store.codeTerms.keys({
      start: termKey(workspaceNo, driver, from),
      end: termKey(workspaceNo, driver, oldest),
      reverse: true,
      offset,
      limit,
    });
    const positions: ListPosition[] = [];
    for (const key of keys) positions.push(positionOf(key));
    return positions;
  }

  #passes(plan: Plan, position: ListPosition): boolean {
    const { codeTerms, codes } = this.#store;
    const all = plan.others.every((t) => codeTerms.has(termKey(plan.workspaceNo, t, position)));
    if (!all || plan.search === undefined) return all;
    const packed = codes.get(position.no);
    return packed !== undefined && contains(packed, plan.search);
  }

  #records(positions: readonly ListPosition[]): QrCodeRecord[] {
    const records: QrCodeRecord[] = [];
    for (const { no } of positions) {
      const packed = this.#store.codes.get(no);
      // Deleted since its slice was read.
      if (packed === undefined) continue;
      const code = unpackCode(no, packed);
      if (code.deletedAtMs === undefined) records.push(code);
    }
    return records;
  }

  #version(workspaceNo: number): number {
    return this.#store.termCounts.get(termCountKey(workspaceNo, listVersion)) ?? 0;
  }

  #knownTotal(plan: Plan): number | undefined {
    const known = this.#totals.get(nameOf(plan));
    return known?.version === this.#version(plan.workspaceNo) ? known.total : undefined;
  }

  #remember(plan: Plan, version: number, total: number): number {
    const name = nameOf(plan);
    this.#totals.delete(name);
    if (this.#totals.size >= totalsMax) {
      const [oldest] = this.#totals.keys();
      if (oldest !== undefined) this.#totals.delete(oldest);
    }
    this.#totals.set(name, { version, total });
    return total;
  }
}

interface Found {
  /** One more than the limit when there is a next page. */
  readonly positions: readonly ListPosition[];
  readonly total: number;
}

function nameOf(plan: Plan): string {
  const { workspaceNo, driver, others, search } = plan;
  const range = [plan.oldest.createdAtMs, plan.newest.createdAtMs];
  return JSON.stringify([workspaceNo, driver, others, search ?? null, range]);
}

/** On the packed form: making a record of each code would double the time of a search. */
function contains(packed: PackedCode, search: string): boolean {
  const [id, , , , target, , shortCode, name] = packed;
  const externalId = packed[12];
  const has = (text: string | null): boolean => text?.toLowerCase().includes(search) === true;
  // An id is looked for as an id: its letters mean nothing, and short texts would be in many of them.
  const isId = search.startsWith('qr_') && id.startsWith(search);
  return has(target) || has(name) || has(shortCode) || has(externalId) || isId;
}

function earlier(one: ListPosition, other: ListPosition): ListPosition {
  if (one.createdAtMs !== other.createdAtMs) {
    return one.createdAtMs < other.createdAtMs ? one : other;
  }
  return one.no < other.no ? one : other;
}

function formatCursor(position: ListPosition): string {
  const bytes = Buffer.alloc(cursorTimeBytes + 4);
  bytes.writeUIntBE(position.createdAtMs, 0, cursorTimeBytes);
  bytes.writeUInt32BE(position.no, cursorTimeBytes);
  return bytes.toString('base64url');
}

function parseCursor(text: string): ListPosition {
  if (!cursorPattern.test(text)) {
    const message = 'Not a cursor of this list';
    const faults = [{ path: 'cursor', code: 'invalid_cursor', message }];
    throw new Failure('validation_failed', message, { faults });
  }
  const bytes = Buffer.from(text, 'base64url');
  return {
    createdAtMs: bytes.readUIntBE(0, cursorTimeBytes),
    no: bytes.readUInt32BE(cursorTimeBytes),
  };
}
