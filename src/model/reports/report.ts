/**
 * Reports for people without an account. A shared report is a link to the numbers of a code or campaign; a digest is a mail
 * with those of a workspace, which a member subscribed to.
 */
import type { WorkspaceNo } from '../numbers.ts';

/** Up to today; `all` = since the code or campaign began. */
export const reportRanges = ['7d', '30d', '90d', 'all'] as const;
export type ReportRange = (typeof reportRanges)[number];

/** Per workspace, without expired ones. */
export const reportsMax = 200;
export const reportTitleLengthMax = 120;

export interface ReportRecord {
  readonly id: string;
  readonly workspaceNo: WorkspaceNo;
  readonly of: string;
  /** Absent = the name of the code or campaign. */
  readonly title?: string;
  readonly range: ReportRange;
  /** IANA name; absent = the workspace's. */
  readonly timezone?: string;
  readonly tokenHash: string;
  readonly createdBy: string;
  readonly createdAtMs: number;
  readonly expiresAtMs?: number;
}

export const digestFrequencies = ['weekly', 'monthly'] as const;
export type DigestFrequency = (typeof digestFrequencies)[number];

/** A member's subscription to digests of a workspace. */
export interface DigestRecord {
  readonly frequency: DigestFrequency;
  /** A membership that began later has no subscription. */
  readonly askedAtMs: number;
  /** SHA-256 of the token for unsubscribing, base64url. */
  readonly tokenHash: string;
  /** The last local day of the last finished period, mailed or given up; -1 = none. */
  readonly doneThroughDay: number;
  readonly retry?: { readonly throughDay: number; readonly tries: number };
}

/** Numbers that a member asked for. */
export interface MailedDigest {
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** The same for each try. */
  readonly messageId: string;
  readonly unsubscribeUrl: string;
}
