/**
 * Which codes are in which campaigns. The tables (store/management/product-tables.ts) are the only truth, whichever
 * side changes them:
 *
 *   a code's `campaignIds`       joins and leaves by the list
 *   a campaign's `qrCodeIds`     joins and leaves by the list
 *
 * After its end a campaign keeps its codes: none joins or leaves. A deleted code is in no list, but keeps its row: its scans
 * inside the schedule count until its analytics go (code-retention.ts).
 */
import {
  campaignCodesMax,
  type CampaignRecord,
  codeCampaignsMax,
  takesCodes,
} from '../../model/campaign.ts';
import type { Clock } from '../../model/clock.ts';
import type { QrCodeRecord } from '../../model/code.ts';
import { Failure, type Fault, readOr } from '../../model/failure.ts';
import type { PackedMember } from '../../store/management/product-tables.ts';
import type { Management } from '../../store/management/management.ts';
import { fault } from './rules.ts';
import { indexCampaign, termCount } from './search/terms.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';

/**
 * Most rows of a campaign, with deleted codes: its deletion removes them in one transaction, and its end sums
 * them.
 */
const rowsMax = 2 * campaignCodesMax;

export interface Member {
  readonly codeNo: CodeNo;
  readonly qrCodeId: string;
  readonly isDeleted: boolean;
}

export class Memberships {
  readonly #store: Management;
  readonly #clock: Clock;

  constructor(store: Management, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** The value of `{campaign}` after a change and, if the oldest campaign stays, before it. */
  namesAfter(
    routing: QrCodeRecord['routing'],
    [before]: readonly CampaignRecord[],
    [after]: readonly CampaignRecord[],
  ): { readonly campaign: string; readonly campaignBefore?: string | undefined } {
    const campaign = after?.name ?? '';
    return before?.no === after?.no
      ? { campaign, campaignBefore: routing?.campaign }
      : { campaign };
  }

  /** The value of `{campaign}`: the name of the oldest; empty without a readable one. */
  nameOf(workspaceNo: WorkspaceNo, ids: readonly string[]): string {
    const found = ids.flatMap((id) => readOr(() => this.#find(workspaceNo, id), undefined) ?? []);
    return found.sort(byAge)[0]?.name ?? '';
  }

  /** Every campaign of a code, oldest first; at most 100 (model/campaign.ts). */
  campaignsOf(codeNo: CodeNo): CampaignRecord[] {
    const found: CampaignRecord[] = [];
    for (const [, no] of this.#store.campaigns.codeCampaigns.keys(everyOf(codeNo))) {
      const campaign = this.#store.campaigns.campaigns.get(no);
      if (campaign !== undefined) found.push(campaign);
    }
    return found;
  }

  /** The codes of a campaign in the order of its list; those that joined by themselves come last. */
  membersOf(campaignNo: number): Member[] {
    const rows = this.#rows(campaignNo);
    rows.sort((a, b) => a.value[0] - b.value[0] || a.key[1] - b.key[1]);
    return rows.map(({ key, value }) => ({
      codeNo: key[1],
      qrCodeId: value[2],
      isDeleted: value[3] === 1,
    }));
  }

  /**
   * The campaigns of a code that asks for these, oldest first. A campaign that has ended keeps its codes, whatever they ask
   * for. Call it before the first write of a change.
   * @param before none for a code that is being created
   * @throws Failure validation_failed, conflict when a campaign is over
   */
  campaignsAfter(
    workspaceNo: WorkspaceNo,
    before: readonly CampaignRecord[],
    ids: readonly string[],
  ): CampaignRecord[] {
    const nowMs = this.#clock.now();
    const after = before.filter((one) => ids.includes(one.id) || !takesCodes(one, nowMs));
    for (const [at, id] of ids.entries()) {
      if (after.some((one) => one.id === id)) continue;
      after.push(this.#joinable(workspaceNo, id, `campaignIds.${at}`));
    }
    if (after.length > codeCampaignsMax && after.length > before.length) {
      const message = `A code is in at most ${codeCampaignsMax} campaigns`;
      throw refused('campaignIds', 'too_many_campaigns', message);
    }
    return after.sort(byAge);
  }

  #joinable(workspaceNo: WorkspaceNo, id: string, path: string): CampaignRecord {
    const campaign = this.#find(workspaceNo, id);
    if (campaign === undefined)
      throw refused(path, 'unknown_campaign', 'There is no such campaign');
    if (!takesCodes(campaign, this.#clock.now())) {
      throw new Failure('conflict', 'The campaign has ended, expected one that takes codes');
    }
    const live = this.#liveCount(campaign);
    if (live >= campaignCodesMax || this.#rowCount(campaign.no) >= rowsMax) {
      throw refused(path, 'campaign_full', `A campaign has at most ${campaignCodesMax}`);
    }
    return campaign;
  }

  /** Moves a code between campaigns. Call it after `campaignsAfter`, inside the same transaction. */
  move(
    code: QrCodeRecord,
    before: readonly CampaignRecord[],
    after: readonly CampaignRecord[],
  ): void {
    for (const campaign of before) {
      if (after.some(({ no }) => no === campaign.no)) continue;
      this.#leave(campaign.no, code.no);
      indexCampaign(this.#store, campaign, { joined: [], left: [code] });
    }
    for (const campaign of after) {
      if (before.some(({ no }) => no === campaign.no)) continue;
      // After the codes of a list, whose places are small numbers.
      this.#join(campaign.no, code.no, [this.#clock.now(), code.createdAtMs, code.id, 0]);
      indexCampaign(this.#store, campaign, { joined: [code], left: [] });
    }
  }

  /** Faults of `codes` as the list of a campaign. @param campaignNo undefined for a new one */
  listFaults(campaignNo: number | undefined, codes: readonly QrCodeRecord[]): Fault[] {
    const faults: Fault[] = [];
    let more = 0;
    for (const [at, { no }] of codes.entries()) {
      if (campaignNo !== undefined && this.#has(campaignNo, no)) continue;
      more++;
      if (this.#campaignCount(no) < codeCampaignsMax) continue;
      const message = `This code is in ${codeCampaignsMax} campaigns, the most there may be`;
      faults.push(fault(`qrCodeIds.${at}`, 'too_many_campaigns', message));
    }
    const rows = campaignNo === undefined ? 0 : this.#rowCount(campaignNo);
    if (codes.length > campaignCodesMax || rows + more > rowsMax) {
      const message = `A campaign has at most ${campaignCodesMax} codes, and ${rowsMax} with deleted ones`;
      faults.push(fault('qrCodeIds', 'too_many', message));
    }
    return faults;
  }

  /** Makes `codes` the list of a campaign, in this order. Inside a transaction, after `listFaults`. */
  setList(campaign: CampaignRecord, codes: readonly QrCodeRecord[]): void {
    const wanted = new Set(codes.map(({ no }) => no));
    const places = new Map<number, number>();
    const left: Array<{ no: CodeNo; createdAtMs: number }> = [];
    for (const { key, value } of this.#rows(campaign.no)) {
      const [, codeNo] = key;
      places.set(codeNo, value[0]);
      if (value[3] === 1 || wanted.has(codeNo)) continue;
      this.#leave(campaign.no, codeNo);
      left.push({ no: codeNo, createdAtMs: value[1] });
    }
    for (const [place, { no, createdAtMs, id }] of codes.entries()) {
      if (places.get(no) !== place) this.#join(campaign.no, no, [place, createdAtMs, id, 0]);
    }
    const joined = codes.filter(({ no }) => !places.has(no));
    indexCampaign(this.#store, campaign, { joined, left });
  }

  /** A deleted code leaves the lists. Inside the transaction of its deletion. */
  markDeleted(code: QrCodeRecord): void {
    for (const campaign of this.campaignsOf(code.no)) {
      const key: [number, number] = [campaign.no, code.no];
      const [place, createdAtMs, qrCodeId] = this.#store.campaigns.campaignCodes.get(key) ?? [];
      if (place === undefined || createdAtMs === undefined || qrCodeId === undefined) continue;
      this.#store.campaigns.campaignCodes.put(key, [place, createdAtMs, qrCodeId, 1]);
      indexCampaign(this.#store, campaign, { joined: [], left: [code] });
    }
  }

  /** A code whose analytics are gone leaves the sums too. Inside a transaction. */
  removeCode(codeNo: CodeNo): void {
    const keys = [...this.#store.campaigns.codeCampaigns.keys(everyOf(codeNo))];
    for (const [, campaignNo] of keys) this.#leave(campaignNo, codeNo);
  }

  /** A deleted campaign releases its codes. Inside the transaction of its deletion. */
  removeCampaign(campaign: CampaignRecord): void {
    const left: Array<{ no: CodeNo; createdAtMs: number }> = [];
    for (const { key, value } of this.#rows(campaign.no)) {
      this.#leave(campaign.no, key[1]);
      if (value[3] === 0) left.push({ no: key[1], createdAtMs: value[1] });
    }
    indexCampaign(this.#store, campaign, { joined: [], left });
  }

  #find(workspaceNo: WorkspaceNo, campaignId: string): CampaignRecord | undefined {
    const { campaignIds, campaigns } = this.#store.campaigns;
    const no = campaignIds.get(campaignId);
    const campaign = no === undefined ? undefined : campaigns.get(no);
    return campaign?.workspaceNo === workspaceNo ? campaign : undefined;
  }

  /** A list, so that rows may go while it is walked. */
  #rows(campaignNo: number): Array<{ key: [number, number]; value: PackedMember }> {
    return [...this.#store.campaigns.campaignCodes.range(everyOf(campaignNo))];
  }

  #has(campaignNo: number, codeNo: CodeNo): boolean {
    return this.#store.campaigns.campaignCodes.has([campaignNo, codeNo]);
  }

  #rowCount(campaignNo: number): number {
    return this.#store.campaigns.campaignCodes.count(everyOf(campaignNo));
  }

  #campaignCount(codeNo: CodeNo): number {
    return this.#store.campaigns.codeCampaigns.count(everyOf(codeNo));
  }

  #liveCount({ workspaceNo, id }: CampaignRecord): number {
    return termCount(this.#store, workspaceNo, { kind: 'campaign', text: id });
  }

  #join(campaignNo: number, codeNo: CodeNo, member: PackedMember): void {
    this.#store.campaigns.campaignCodes.put([campaignNo, codeNo], member);
    this.#store.campaigns.codeCampaigns.put([codeNo, campaignNo], 1);
  }

  #leave(campaignNo: number, codeNo: CodeNo): void {
    this.#store.campaigns.campaignCodes.remove([campaignNo, codeNo]);
    this.#store.campaigns.codeCampaigns.remove([codeNo, campaignNo]);
  }
}

const byAge = (one: CampaignRecord, other: CampaignRecord): number => one.no - other.no;

/** All keys that begin with a number; the end is not part of a range. */
function everyOf(no: CodeNo): { readonly start: [number, number]; readonly end: [number, number] } {
  return { start: [no, 0], end: [no + 1, 0] };
}

function refused(path: string, code: string, message: string): Failure {
  return new Failure('validation_failed', message, { faults: [fault(path, code, message)] });
}
