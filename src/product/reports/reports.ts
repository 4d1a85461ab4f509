/**
 * Shared reports: links that show the numbers of one code or campaign to everyone who has them, without an account.
 *
 *   create -> active --(expiresAt)--> expired
 *             active --(code removed 90 days after its deletion, campaign deleted)--> gone
 *             any    --(revoked)--> removed
 *
 * `expired` and `gone` are computed. A link that is not active looks like one that never existed. A workspace has 200
 * reports; a full list drops those that are not active. report-numbers.ts reads what a link shows, page/ draws it.
 */
import type { CampaignRecord } from '../../model/campaign.ts';
import type { Clock } from '../../model/clock.ts';
import type { QrCodeRecord } from '../../model/code.ts';
import { Failure, invalid, notFound } from '../../model/failure.ts';
import { type IdSource, parseId } from '../../model/ids.ts';
import { type WorkspaceNo, workspaceRange } from '../../model/numbers.ts';
import { type ReportRange, type ReportRecord, reportsMax } from '../../model/reports/report.ts';
import type { Actor } from '../../model/workspace.ts';
import type { Management } from '../../store/management/management.ts';
import { type LinkTokens, tokenHash } from './link-tokens.ts';

export const reportStatuses = ['active', 'expired', 'gone'] as const;
export type ReportStatus = (typeof reportStatuses)[number];

/** Whose numbers a report shows. */
export type ReportSubject =
  | { readonly kind: 'code'; readonly code: QrCodeRecord }
  | { readonly kind: 'campaign'; readonly campaign: CampaignRecord };

export interface ReportDraft {
  /** `qr_…` or `cmp_…` */
  readonly of: string;
  readonly title?: string | undefined;
  readonly range: ReportRange;
  readonly timezone?: string | undefined;
  readonly expiresAtMs?: number | undefined;
}

export interface ReportsOptions {
  readonly store: Management;
  readonly ids: IdSource;
  readonly clock: Clock;
  readonly tokens: LinkTokens;
  readonly codes: {
    /** Also a deleted one while its analytics are kept. */
    findKept(workspaceNo: WorkspaceNo, id: string): QrCodeRecord | undefined;
  };
  readonly campaigns: {
    find(workspaceNo: WorkspaceNo, id: string): CampaignRecord | undefined;
  };
}

export class Reports {
  readonly #options: ReportsOptions;

  constructor(options: ReportsOptions) {
    this.#options = options;
  }

  /**
   * @param inTransaction runs in the same transaction
   * @throws Failure not_found, static_code, validation_failed, conflict when the workspace has too many
   */
  async create(
    actor: Actor,
    draft: ReportDraft,
    inTransaction?: (made: ReportRecord) => void,
  ): Promise<ReportRecord> {
    const { store, ids, clock, tokens } = this.#options;
    const { workspaceNo } = actor;
    return await store.environment.transaction(() => {
      this.#assertShareable(workspaceNo, draft);
      const id = ids.newId('rep');
      const { hash } = tokens.make(id);
      const { of, title, range, timezone, expiresAtMs } = draft;
      const record: ReportRecord = {
        id,
        workspaceNo,
        of,
        ...(title === undefined ? {} : { title }),
        range,
        ...(timezone === undefined ? {} : { timezone }),
        tokenHash: hash,
        createdBy: actor.userId,
        createdAtMs: clock.now(),
        ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
      };
      for (const over of this.#over(workspaceNo)) this.#remove(over);
      store.reports.reports.put(id, record);
      store.reports.workspaceReports.put([workspaceNo, id], 1);
      store.reports.reportTokens.put(hash, id);
      inTransaction?.(record);
      return record;
    });
  }

  /** Newest first. */
  list(workspaceNo: WorkspaceNo): ReportRecord[] {
    const { reports, workspaceReports } = this.#options.store.reports;
    const keys = workspaceReports.keys(workspaceRange(workspaceNo));
    return [...keys].flatMap(([, id]) => reports.get(id, () => undefined) ?? []).toReversed();
  }

  /** @throws Failure not_found */
  get(workspaceNo: WorkspaceNo, id: string): ReportRecord {
    const record =
      parseId('rep', id) === undefined ? undefined : this.#options.store.reports.reports.get(id);
    if (record?.workspaceNo !== workspaceNo) throw notFound('report');
    return record;
  }

  /** Its link opens nothing from now on. @throws Failure not_found */
  async revoke(workspaceNo: WorkspaceNo, id: string): Promise<void> {
    await this.#options.store.environment.transaction(() => {
      this.#remove(this.get(workspaceNo, id));
    });
  }

  statusOf(record: ReportRecord): ReportStatus {
    if (this.#options.clock.now() >= (record.expiresAtMs ?? Infinity)) return 'expired';
    return this.subjectOf(record) === undefined ? 'gone' : 'active';
  }

  /** The token in its link; undefined when that cannot be shown again. */
  tokenOf({ id, tokenHash: hash }: ReportRecord): string | undefined {
    return this.#options.tokens.again(id, hash);
  }

  /** What the token of a link opens, now. */
  find(
    token: string,
  ): { readonly record: ReportRecord; readonly subject: ReportSubject } | undefined {
    const { reports, reportTokens } = this.#options.store.reports;
    const hash = tokenHash(token);
    const id = hash === undefined ? undefined : reportTokens.get(hash);
    const record = id === undefined ? undefined : reports.get(id);
    if (record === undefined || this.statusOf(record) !== 'active') return undefined;
    const subject = this.subjectOf(record);
    return subject && { record, subject };
  }

  /** Undefined if its numbers are gone. */
  subjectOf({
    workspaceNo,
    of,
  }: Pick<ReportRecord, 'workspaceNo' | 'of'>): ReportSubject | undefined {
    const { codes, campaigns } = this.#options;
    if (of.startsWith('cmp_')) {
      const campaign = campaigns.find(workspaceNo, of);
      return campaign && { kind: 'campaign', campaign };
    }
    const code = codes.findKept(workspaceNo, of);
    return code && { kind: 'code', code };
  }

  /** Removes reports that are over if the list is full. @throws Failure conflict if all are active */
  #over(workspaceNo: WorkspaceNo): readonly ReportRecord[] {
    const all = this.list(workspaceNo);
    if (all.length < reportsMax) return [];
    const over = all.filter((record) => this.statusOf(record) !== 'active');
    if (over.length > 0) return over;
    const detail = `Cannot share another report: the workspace has ${reportsMax}, expected fewer`;
    throw new Failure('conflict', detail);
  }

  /** Inside a transaction. */
  #remove({ id, workspaceNo, tokenHash: hash }: ReportRecord): void {
    const { reports, workspaceReports, reportTokens } = this.#options.store.reports;
    reports.remove(id);
    workspaceReports.remove([workspaceNo, id]);
    reportTokens.remove(hash);
  }

  #assertShareable(workspaceNo: WorkspaceNo, { of, expiresAtMs }: ReportDraft): void {
    const subject = this.subjectOf({ workspaceNo, of });
    const isDeleted = subject?.kind === 'code' && subject.code.deletedAtMs !== undefined;
    if (subject === undefined || isDeleted) {
      throw notFound(of.startsWith('cmp_') ? 'campaign' : 'QR code');
    }
    if (subject.kind === 'code' && !subject.code.dynamic) {
      throw new Failure('static_code', 'Cannot share numbers of a static code: it counts no scans');
    }
    if (expiresAtMs === undefined || expiresAtMs > this.#options.clock.now()) return;
    throw invalid('expiresAt', 'in_past', 'Expected a time to come');
  }
}
