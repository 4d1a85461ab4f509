/**
 * Creates, lists, changes, ends and deletes campaigns.
 *
 *   check -> one transaction: record, list, timer, memberships, event, stored answer -> commit
 *
 * The record has the end of a campaign; the scheduler finds it by the timer. An end is emitted once: the event and the
 * record's `end` commit together, and every change, end or deletion first reads the record in its transaction. A
 * transaction that throws is undone.
 *
 * After its end only the name can change, because the totals depend on the schedule and the codes. A campaign that is
 * deleted after its end, before its event, ends first.
 *
 * The status of a campaign follows from its dates and the clock, so a filtered list reads the schedules in its index.
 */
import type { Codes } from '../codes/codes.ts';
import {
  type CampaignEnd,
  type CampaignRecord,
  campaignStateAt,
  type CampaignStatus,
  campaignStatusAt,
  endOfCampaignMs,
  takesCodes,
} from '../../model/campaign.ts';
import type { Clock } from '../../model/clock.ts';
import type { QrCodeRecord } from '../../model/code.ts';
import { formatCursor, parseCursor } from '../../model/cursor.ts';
import { formatDay } from '../../model/day.ts';
import { Failure, type Fault } from '../../model/failure.ts';
import { type IdSource, parseId } from '../../model/ids.ts';
import type { Actor } from '../../model/workspace.ts';
import type { Outbox } from '../../webhooks/outbox.ts';
import type { Management } from '../../store/management/management.ts';
import type { PackedSchedule } from '../../store/management/product-tables.ts';
import { type WorkspaceNo, workspaceNumbers } from '../../model/numbers.ts';

/** Campaigns a workspace has at most: a filtered list reads the schedule of each, 1 µs. */
const campaignsMax = 10_000;
/** Tries to delete a campaign whose end comes during the deletion. */
const deleteTriesMax = 4;

export interface CampaignDraft {
  readonly name: string;
  readonly startDay: number;
  /** Absent = no end. */
  readonly endDay?: number | undefined;
  readonly qrCodeIds: readonly string[];
}

/** A merge patch: absent = keep, null = remove. */
export interface CampaignChange {
  readonly name?: string | undefined;
  readonly startDay?: number | undefined;
  readonly endDay?: number | null | undefined;
  readonly qrCodeIds?: readonly string[] | undefined;
}

export interface CampaignPageRequest {
  readonly status?: CampaignStatus | undefined;
  /** From 1; a cursor wins. */
  readonly page: number;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

export interface CampaignPage {
  readonly data: CampaignRecord[];
  readonly total: number;
  /** Campaigns of the page that are left out, because their record is damaged. */
  readonly unreadable: number;
  /** Its last campaign, so that those created or deleted meanwhile shift nothing; absent on the last page. */
  readonly nextCursor?: string | undefined;
}

export interface CampaignsOptions {
  readonly store: Management;
  readonly outbox: Outbox;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly codes: Codes;
  /** The result of a campaign, over its whole schedule. */
  readonly resultOf: (campaign: CampaignRecord) => Promise<Omit<CampaignEnd, 'atMs'>>;
}

/** Runs inside the transaction, after its writes; must not throw. */
export type InCampaignTransaction = (campaign: CampaignRecord) => void;

export class Campaigns {
  readonly #options: CampaignsOptions;

  constructor(options: CampaignsOptions) {
    this.#options = options;
  }

  /** @throws Failure validation_failed with every fault, conflict, storage_full */
  async create(
    actor: Actor,
    draft: CampaignDraft,
    inTransaction?: InCampaignTransaction,
  ): Promise<CampaignRecord> {
    const { store, ids, clock, codes, outbox } = this.#options;
    const { name, startDay, endDay, qrCodeIds } = draft;
    const { workspaceNo, userId } = actor;
    return await store.environment.transaction(() => {
      const members = this.#checked(actor, undefined, draft);
      this.#checkCount(workspaceNo);
      const nowMs = clock.now();
      const made = { createdBy: userId, createdAtMs: nowMs, updatedAtMs: nowMs };
      const campaign: CampaignRecord = {
        id: ids.newId('cmp'),
        no: store.next('campaign'),
        workspaceNo,
        name,
        startDay,
        ...(endDay === undefined ? {} : { endDay }),
        ...made,
      };
      store.campaigns.campaignIds.put(campaign.id, campaign.no);
      this.#put(campaign);
      codes.memberships.setList(campaign, members);
      outbox.append('campaign.created', workspaceNo, {
        id: campaign.id,
        name,
        startDate: formatDay(startDay),
        endDate: endDay === undefined ? null : formatDay(endDay),
        qrCodeIds,
      });
      inTransaction?.(campaign);
      return campaign;
    });
  }

  /** The campaign of this id; undefined also when it is another workspace's. */
  find(workspaceNo: WorkspaceNo, id: string): CampaignRecord | undefined {
    if (parseId('cmp', id) === undefined) return undefined;
    const { campaignIds, campaigns } = this.#options.store.campaigns;
    const no = campaignIds.get(id);
    const campaign = no === undefined ? undefined : campaigns.get(no);
    return campaign?.workspaceNo === workspaceNo ? campaign : undefined;
  }

  /** @throws Failure not_found */
  get(actor: Actor, id: string): CampaignRecord {
    const campaign = this.find(actor.workspaceNo, id);
    if (campaign === undefined) throw new Failure('not_found', 'There is no campaign with this id');
    return campaign;
  }

  /** Newest first. @throws Failure validation_failed for a cursor of another list */
  page(
    workspaceNo: WorkspaceNo,
    { status, page, limit, cursor }: CampaignPageRequest,
  ): CampaignPage {
    const [before] = cursor === undefined ? [] : parseCursor(cursor, 1);
    const numbers = this.#numbersOf(workspaceNo, status);
    const first =
      before === undefined ? (page - 1) * limit : numbers.findIndex((no) => no < before);
    const start = first === -1 ? numbers.length : first;
    const shown = numbers.slice(start, start + limit);
    const { campaigns } = this.#options.store.campaigns;
    const data = shown.flatMap((no) => campaigns.get(no, () => undefined) ?? []);
    const last = shown.at(-1);
    const isMore = start + limit < numbers.length && last !== undefined;
    return {
      data,
      total: numbers.length,
      unreadable: shown.length - data.length,
      nextCursor: isMore ? formatCursor(last) : undefined,
    };
  }

  /** Live codes in the order of the list. */
  qrCodeIdsOf(campaign: CampaignRecord): string[] {
    const members = this.#options.codes.memberships.membersOf(campaign.no);
    return members.flatMap(({ qrCodeId, isDeleted }) => (isDeleted ? [] : [qrCodeId]));
  }

  /** @throws Failure not_found, validation_failed, conflict from the end on, storage_full */
  async change(actor: Actor, id: string, change: CampaignChange): Promise<CampaignRecord> {
    const { store, clock, codes } = this.#options;
    return await store.environment.transaction(() => {
      const current = this.get(actor, id);
      const next = changed(current, change);
      const isOpen = takesCodes(current, clock.now());
      const isMoved = next.startDay !== current.startDay || next.endDay !== current.endDay;
      const isNewList = !isSameList(change.qrCodeIds, () => this.qrCodeIdsOf(current));
      const isRenamed = next.name !== current.name;
      if (isMoved && !isOpen) throw ended('schedule');
      if (isNewList && !isOpen) throw ended('codes');
      const qrCodeIds = isNewList ? change.qrCodeIds : undefined;
      const members = this.#checked(actor, current.no, { ...next, qrCodeIds });
      if (!isMoved && !isNewList && !isRenamed) return current;
      const written = { ...next, updatedAtMs: Math.max(clock.now(), current.updatedAtMs) };
      this.#put(written);
      if (isNewList) codes.memberships.setList(written, members);
      return written;
    });
  }

  /** @throws Failure not_found, storage_full; what `end` throws when its end is due */
  async delete(actor: Actor, id: string): Promise<CampaignRecord> {
    const { store, codes } = this.#options;
    for (let tries = 0; tries < deleteTriesMax; tries++) {
      const due = this.get(actor, id);
      if (this.#isEnding(due)) await this.end(due.no);
      const deleted = await store.environment.transaction(() => {
        const current = this.get(actor, id);
        if (this.#isEnding(current)) return undefined;
        const { campaigns, campaignIds, campaignDue, workspaceCampaigns } = store.campaigns;
        codes.memberships.removeCampaign(current);
        campaigns.remove(current.no);
        campaignIds.remove(id);
        workspaceCampaigns.remove([current.workspaceNo, current.no]);
        campaignDue.set([current.no], undefined);
        return current;
      });
      if (deleted !== undefined) return deleted;
    }
    throw new Failure('overloaded', 'The campaign is ending', { retryAfterSeconds: 1 });
  }

  /** Campaigns that ended at `untilMs` or before and have not emitted it, oldest first. */
  due(untilMs: number, limit: number): CampaignRecord[] {
    const { campaignDue, campaigns } = this.#options.store.campaigns;
    const found: CampaignRecord[] = [];
    for (const [, no] of campaignDue.due(untilMs, limit)) {
      // A damaged campaign cannot end, and does not block others.
      const campaign = campaigns.get(no, () => undefined);
      if (campaign !== undefined) found.push(campaign);
    }
    return found;
  }

  /**
   * Ends a campaign with what is counted by now, and emits `campaign.ended`.
   * @returns whether it did: false when it has ended already, or its end has been moved meanwhile
   * @throws Failure overloaded, storage_full
   */
  async end(campaignNo: number): Promise<boolean> {
    const { store, clock, outbox, resultOf } = this.#options;
    const seen = store.campaigns.campaigns.get(campaignNo);
    if (seen === undefined || !this.#isEnding(seen)) return false;
    const totals = await resultOf(seen);
    return await store.environment.transaction(() => {
      const current = store.campaigns.campaigns.get(campaignNo);
      if (current === undefined || !this.#isEnding(current)) return false;
      // The dates were moved while the clock was set back: these are not its totals.
      if (current.startDay !== seen.startDay || current.endDay !== seen.endDay) return false;
      this.#put({ ...current, end: { ...totals, atMs: clock.now() } });
      const { totalScans, uniqueScanners, conversionRate } = totals;
      const data = { id: current.id, totalScans, uniqueScanners, conversionRate };
      outbox.append('campaign.ended', current.workspaceNo, data);
      return true;
    });
  }

  #checkCount(workspaceNo: WorkspaceNo): void {
    const { workspaceCampaigns } = this.#options.store.campaigns;
    if (workspaceCampaigns.count(workspaceNumbers(workspaceNo)) < campaignsMax) return;
    throw new Failure('conflict', `A workspace has at most ${campaignsMax} campaigns`);
  }

  /** Newest first. */
  #numbersOf(workspaceNo: WorkspaceNo, status: CampaignStatus | undefined): number[] {
    const { store, clock } = this.#options;
    const { workspaceCampaigns } = store.campaigns;
    const range = workspaceNumbers(workspaceNo);
    if (status === undefined) {
      return Array.from(workspaceCampaigns.keys(range), ([, no]) => no).toReversed();
    }
    const nowMs = clock.now();
    const rows = [...workspaceCampaigns.range(range)];
    const wanted = rows.filter(({ value }) => statusOf(value, nowMs) === status);
    return wanted.map(({ key }) => key[1]).toReversed();
  }

  #isEnding(campaign: CampaignRecord): boolean {
    return campaignStateAt(campaign, this.#options.clock.now()) === 'ending';
  }

  /** Writes the record, its entry in the list and its timer. */
  #put(after: CampaignRecord): void {
    const { campaigns, workspaceCampaigns, campaignDue } = this.#options.store.campaigns;
    const { no, workspaceNo, startDay, endDay, end } = after;
    const isToEnd = endDay !== undefined && end === undefined;
    campaignDue.set([no], isToEnd ? endOfCampaignMs(endDay) : undefined);
    campaigns.put(no, after);
    workspaceCampaigns.put([workspaceNo, no], [startDay, endDay ?? -1, end === undefined ? 0 : 1]);
  }

  /** The codes of the ids. @throws Failure validation_failed with every fault */
  #checked(
    actor: Actor,
    campaignNo: number | undefined,
    draft: Pick<CampaignDraft, 'startDay' | 'endDay'> & {
      qrCodeIds?: readonly string[] | undefined;
    },
  ): QrCodeRecord[] {
    const faults: Fault[] = [];
    if (draft.endDay !== undefined && draft.endDay < draft.startDay) {
      const message = 'Expected endDate not before startDate';
      faults.push({ path: 'endDate', code: 'before_start', message });
    }
    const members = this.#codesOf(actor, draft.qrCodeIds ?? [], faults);
    if (draft.qrCodeIds !== undefined) {
      faults.push(...this.#options.codes.memberships.listFaults(campaignNo, members));
    }
    if (faults.length === 0) return members;
    throw new Failure('validation_failed', 'The campaign has invalid fields', { faults });
  }

  #codesOf(actor: Actor, qrCodeIds: readonly string[], faults: Fault[]): QrCodeRecord[] {
    const members: QrCodeRecord[] = [];
    const known = new Set<string>();
    for (const [at, id] of qrCodeIds.entries()) {
      const path = `qrCodeIds.${at}`;
      const code = this.#options.codes.find(actor.workspaceNo, id);
      if (known.has(id)) {
        faults.push({ path, code: 'repeated', message: 'This code is in the list already' });
      } else if (code === undefined) {
        faults.push({ path, code: 'unknown_code', message: 'There is no QR code with this id' });
      } else members.push(code);
      known.add(id);
    }
    return members;
  }
}

const ended = (what: string): Failure =>
  new Failure(
    'conflict',
    `Cannot change the ${what}: the campaign has ended, expected one that has not`,
  );

function statusOf([startDay, endDay, isEnded]: PackedSchedule, nowMs: number): CampaignStatus {
  if (isEnded === 1) return 'ended';
  return campaignStatusAt({ startDay, ...(endDay < 0 ? {} : { endDay }) }, nowMs);
}

function changed(current: CampaignRecord, change: CampaignChange): CampaignRecord {
  const { endDay: before, ...rest } = current;
  const { name = current.name, startDay = current.startDay } = change;
  const endDay = change.endDay === undefined ? before : (change.endDay ?? undefined);
  return { ...rest, name, startDay, ...(endDay === undefined ? {} : { endDay }) };
}

/** Whether the request leaves the list as it is: it has the same list, or none. */
function isSameList(asked: readonly string[] | undefined, present: () => string[]): boolean {
  if (asked === undefined) return true;
  const now = present();
  return asked.length === now.length && asked.every((id, at) => id === now[at]);
}
