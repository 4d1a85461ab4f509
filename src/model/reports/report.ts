/**
 * Reports: numbers for people without an account. A shared report is a link to those of one code or campaign; a digest
 * is a mail with those of a workspace, which a member asked for.
 */
import type { WorkspaceNo } from '../numbers.ts';

/** Days up to today; `all` = since the code or the campaign began. */
export const reportRanges = ['7d', '30d', '90d', 'all'] as const;
export type ReportRange = (typeof reportRanges)[number];

/** Of a workspace, those that are over apart. */
export const reportsMax = 200;
export const reportTitleLengthMax = 120;

export interface ReportRecord {
  readonly id: string;
  readonly workspaceNo: WorkspaceNo;
  /** `qr_…` or `cmp_…`: whose numbers. */
  readonly of: string;
  /** What the page is called; absent = as the code or campaign is. */
  readonly title?: string;
  /** What the page shows at first. */
  readonly range: ReportRange;
  /** IANA name; absent = the workspace's. */
  readonly timezone?: string;
  /** SHA-256 of the token in its link, base64url. */
  readonly tokenHash: string;
  readonly createdBy: string;
  readonly createdAtMs: number;
  /** Absent = it works until it is revoked. */
  readonly expiresAtMs?: number;
}

export const digestFrequencies = ['weekly', 'monthly'] as const;
export type DigestFrequency = (typeof digestFrequencies)[number];

/** That a member wants digests of a workspace. */
export interface DigestRecord {
  readonly frequency: DigestFrequency;
  /** When it was asked for: a membership that began later has not asked. */
  readonly askedAtMs: number;
  /** SHA-256 of the token in its link to unsubscribe, base64url. */
  readonly tokenHash: string;
  /** Its entry in `digests_due`. */
  readonly dueAtMs: number;
  /** The last local day of the period whose mail went out, or was given up; -1 = none. */
  readonly doneThroughDay: number;
  /** Of a mail that failed: the period to send again, and how often it was tried. */
  readonly retry?: { readonly throughDay: number; readonly tries: number };
}
