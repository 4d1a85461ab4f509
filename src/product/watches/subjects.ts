/**
 * The subject of a watch now: its name, its scans, whether scans are expected, and its targets.
 *
 *   code        its scans; expected while it redirects; its target, fallback, rules and variants
 *   campaign    the scans of its codes that redirect now, also those before they joined, so that a code that joins or is
 *               paused changes what is expected with it; expected while the campaign is active
 *   workspace   all its scans; expected always
 *
 * A subject younger than two weeks has no average yet: no scans are expected.
 */
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Clock } from '../../model/clock.ts';
import { campaignStatusAt, type CampaignRecord } from '../../model/campaign.ts';
import { codeStatusAt, type QrCodeRecord } from '../../model/code.ts';
import { dayMs } from '../../model/day.ts';
import type { CodeNo, WorkspaceNo } from '../../model/numbers.ts';
import type { IdleReason, WatchRecord, WatchSubject } from '../../model/watches/watch.ts';
import type { Subject } from '../../engine/analytics/subject.ts';
import type { Management } from '../../store/management/management.ts';

const learningMs = 14 * dayMs;
/** Of a code without a name: its target, cut. */
const nameLengthMax = 120;
/** Addresses of one code: its target, and the first of those that rules and variants lead to. */
const codeUrlsMax = 8;
/** Of a campaign or a workspace, from its newest codes: with one host, at most half an hour of requests, once a day. */
const urlsMax = 100;
/** Codes of a workspace that are looked at for them. */
const codesReadMax = 1_000;
/** Codes read between two yields: about 1 ms. */
const sliceCodes = 100;

export interface WatchedCodes {
  find(workspaceNo: WorkspaceNo, id: string): QrCodeRecord | undefined;
  /** Newest first. */
  listAll(
    workspaceNo: WorkspaceNo,
    filter: { readonly dynamic: true },
  ): AsyncIterable<{ readonly codes: readonly QrCodeRecord[] }>;
  readonly memberships: {
    membersOf(
      campaignNo: number,
    ): ReadonlyArray<{ readonly qrCodeId: string; readonly isDeleted: boolean }>;
  };
}

export interface SubjectsOptions {
  readonly store: Management;
  readonly codes: WatchedCodes;
  readonly clock: Clock;
  /** Lifetime scans. */
  readonly scansOf: (codeNo: CodeNo) => number;
  /** Of the short links: never requested. */
  readonly ownHost: string;
}

export interface SeenSubject {
  readonly scans: Subject;
  /** Before it nothing could be scanned. */
  readonly beginMs: number;
  /** Absent = scans are expected. */
  readonly idle?: IdleReason;
}

export class Subjects {
  readonly #options: SubjectsOptions;

  constructor(options: SubjectsOptions) {
    this.#options = options;
  }

  /** Its name for people; undefined when it is gone. */
  nameOf(workspaceNo: WorkspaceNo, subject: WatchSubject): string | undefined {
    const { store, codes } = this.#options;
    if (subject.kind === 'workspace') return store.workspaces.get(workspaceNo)?.name;
    if (subject.kind === 'campaign') return this.#campaign(workspaceNo, subject.id)?.name;
    const code = codes.find(workspaceNo, subject.id);
    return code?.name ?? code?.target.slice(0, nameLengthMax);
  }

  /** Whether it can have scans, and whether it has addresses to request; undefined when it is not there. */
  abilitiesOf(
    workspaceNo: WorkspaceNo,
    subject: WatchSubject,
  ): { readonly isScanned: boolean; readonly leads: boolean } | undefined {
    if (this.nameOf(workspaceNo, subject) === undefined) return undefined;
    if (subject.kind !== 'code') return { isScanned: true, leads: true };
    const code = this.#options.codes.find(workspaceNo, subject.id);
    return { isScanned: code?.dynamic === true, leads: code?.type === 'url' };
  }

  /** Undefined when it is gone. */
  async inspect({ workspaceNo, subject }: WatchRecord): Promise<SeenSubject | undefined> {
    if (subject.kind === 'code') return this.#inspectCode(workspaceNo, subject.id);
    if (subject.kind === 'campaign') return await this.#inspectCampaign(workspaceNo, subject.id);
    const beginMs = this.#options.store.workspaces.get(workspaceNo)?.createdAtMs;
    if (beginMs === undefined) return undefined;
    return { scans: { workspace: workspaceNo }, beginMs, ...this.#learning(beginMs) };
  }

  /** Every address that people are led to now, each once, those of the newest codes first. */
  async urlsOf({ workspaceNo, subject }: WatchRecord): Promise<string[]> {
    const found = new Set<string>();
    for await (const code of this.#codesOf(workspaceNo, subject)) {
      if (code.type !== 'url' || !this.#isActive(code)) continue;
      for (const url of targetsOf(code).slice(0, codeUrlsMax)) {
        if (new URL(url).host !== this.#options.ownHost) found.add(url);
      }
      if (found.size >= urlsMax) break;
    }
    return [...found].slice(0, urlsMax);
  }

  async *#codesOf(workspaceNo: WorkspaceNo, subject: WatchSubject): AsyncGenerator<QrCodeRecord> {
    const { codes } = this.#options;
    if (subject.kind === 'code') {
      const code = codes.find(workspaceNo, subject.id);
      if (code !== undefined) yield code;
      return;
    }
    if (subject.kind === 'campaign') {
      const campaign = this.#campaign(workspaceNo, subject.id);
      if (campaign !== undefined) yield* this.#members(campaign);
      return;
    }
    let read = 0;
    for await (const slice of codes.listAll(workspaceNo, { dynamic: true })) {
      for (const code of slice.codes) {
        if (++read > codesReadMax) return;
        yield code;
      }
    }
  }

  async *#members(campaign: CampaignRecord): AsyncGenerator<QrCodeRecord> {
    const { codes } = this.#options;
    for (const [at, { qrCodeId, isDeleted }] of codes.memberships
      .membersOf(campaign.no)
      .entries()) {
      if (at % sliceCodes === sliceCodes - 1) await yieldToEventLoop();
      const code = isDeleted ? undefined : codes.find(campaign.workspaceNo, qrCodeId);
      if (code !== undefined) yield code;
    }
  }

  #inspectCode(workspaceNo: WorkspaceNo, id: string): SeenSubject | undefined {
    const code = this.#options.codes.find(workspaceNo, id);
    if (code === undefined) return undefined;
    const beginMs = beginOf(code);
    const isActive = code.dynamic && this.#isActive(code);
    const idle = isActive ? this.#learning(beginMs) : inactive;
    return { scans: { code: code.no }, beginMs, ...idle };
  }

  async #inspectCampaign(workspaceNo: WorkspaceNo, id: string): Promise<SeenSubject | undefined> {
    const campaign = this.#campaign(workspaceNo, id);
    if (campaign === undefined) return undefined;
    const codes: CodeNo[] = [];
    let beginMs = Infinity;
    for await (const code of this.#members(campaign)) {
      if (!code.dynamic || !this.#isActive(code)) continue;
      codes.push(code.no);
      beginMs = Math.min(beginMs, beginOf(code));
    }
    const seen = { scans: { codes }, beginMs };
    const isActive = campaignStatusAt(campaign, this.#options.clock.now()) === 'active';
    if (!isActive || codes.length === 0) return { ...seen, ...inactive };
    return { ...seen, ...this.#learning(Math.max(beginMs, campaign.startDay * dayMs)) };
  }

  #learning(beginMs: number): { readonly idle?: IdleReason } {
    return this.#options.clock.now() - beginMs < learningMs ? { idle: 'learning' } : {};
  }

  #isActive({ no, routing, expiresAtMs, scanLimit }: QrCodeRecord): boolean {
    const { clock, scansOf } = this.#options;
    const bounds = { ...routing, expiresAtMs, scanLimit };
    return codeStatusAt(bounds, clock.now(), () => scansOf(no)) === 'active';
  }

  #campaign(workspaceNo: WorkspaceNo, id: string): CampaignRecord | undefined {
    const { campaignIds, campaigns } = this.#options.store.campaigns;
    const no = campaignIds.get(id);
    const campaign = no === undefined ? undefined : campaigns.get(no);
    return campaign?.workspaceNo === workspaceNo ? campaign : undefined;
  }
}

const inactive = { idle: 'inactive' } as const satisfies { readonly idle: IdleReason };

const beginOf = ({ createdAtMs, routing }: QrCodeRecord): number =>
  Math.max(createdAtMs, routing?.startsAtMs ?? 0);

/** Where a code leads to, to any visitor. */
function targetsOf({ target, routing }: QrCodeRecord): string[] {
  if (routing === undefined) return [target];
  const { rules, split = [], fallbackUrl } = routing;
  const ofRules = rules.flatMap(({ then }) =>
    'target' in then ? [then.target] : then.split.map((variant) => variant.target),
  );
  const all = [target, ...ofRules, ...split.map((variant) => variant.target)];
  return [...new Set(fallbackUrl === undefined ? all : [...all, fallbackUrl])];
}
