/**
 * The QR code: its record, its short code, and the partition its scans belong to.
 *
 * A generated short code is 8 characters of upper-case Crockford base 32 (40 bits): it fits the
 * alphanumeric mode of the symbol and has no look-alikes. A custom slug keeps the letters it was
 * written with; both are looked up folded to upper case.
 */
import type { Design } from './design.ts';
import { base32Alphabet, type RandomBytes } from './ids.ts';
import type { CodeNo, WorkspaceNo } from './numbers.ts';
import type { Routing } from './routing/routing.ts';

export const codeTypes = ['url', 'text', 'email', 'phone', 'sms', 'wifi', 'vcard', 'geo'] as const;
export type CodeType = (typeof codeTypes)[number];

export interface QrCodeRecord {
  readonly id: string;
  /** Dense, from 1, below 2^32: what scans, actors and rollups carry. */
  readonly no: CodeNo;
  readonly workspaceId: string;
  readonly workspaceNo: WorkspaceNo;
  readonly type: CodeType;
  /** Normalised; for `url` the WHATWG href. */
  readonly target: string;
  readonly dynamic: boolean;
  /** As generated, or as the custom slug was written; dynamic codes only. */
  readonly shortCode?: string;
  readonly name?: string;
  readonly tags: readonly string[];
  readonly expiresAtMs?: number;
  readonly scanLimit?: number;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly externalId?: string;
  /** Absent = the plain image. */
  readonly design?: Design;
  /** Absent = it leads to its target, always and for everyone. */
  readonly routing?: Routing;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  /** User id. */
  readonly createdBy: string;
  /** Set on a deleted code, whose record stays for its analytics. */
  readonly deletedAtMs?: number;
}

/** What its scans' events say of it; of a code whose record is damaged the id alone. */
export type ScannedCode = Pick<QrCodeRecord, 'id' | 'routing'>;

/** What a code answers now: a redirect, or a page that says why not, in the order in which a redirect asks. */
export const codeStatuses = ['active', 'paused', 'not_started', 'expired', 'used_up'] as const;
export type CodeStatus = (typeof codeStatuses)[number];

/** Orders of a list: newest first, oldest first. */
export const codeSorts = ['-createdAt', 'createdAt'] as const;
export type CodeSort = (typeof codeSorts)[number];

/** Of a short link; `damaged`: where it leads is unknown, because its stored records cannot be read. */
export type LinkState = 'live' | 'deleted' | 'damaged';

/** What keeps a code from redirecting. */
export interface CodeBounds {
  readonly paused?: boolean | undefined;
  readonly startsAtMs?: number | undefined;
  readonly expiresAtMs?: number | undefined;
  readonly scanLimit?: number | undefined;
}

/** A redirect asks in this order too. @param scans lifetime scans, asked for limited codes alone */
export function codeStatusAt(
  { paused = false, startsAtMs, expiresAtMs, scanLimit }: CodeBounds,
  nowMs: number,
  scans: () => number,
): CodeStatus {
  if (paused) return 'paused';
  if (startsAtMs !== undefined && startsAtMs > nowMs) return 'not_started';
  if (expiresAtMs !== undefined && expiresAtMs <= nowMs) return 'expired';
  return scanLimit !== undefined && scans() >= scanLimit ? 'used_up' : 'active';
}

const shortCodeLength = 8;
/** Partitions a shard owns whole; the number is in the data, so it never changes. */
export const partitionCount = 64;

const shortCodeAlphabet = base32Alphabet.toUpperCase();

/** Paths of the short-link host that must never become a code, nor its first segment, folded. */
export const reservedShortCodes: ReadonlySet<string> = new Set([
  'ADMIN',
  'API',
  'APP',
  'ASSETS',
  'DASHBOARD',
  'DOCS',
  'FAVICON',
  'HEALTH',
  'LOGIN',
  'LOGOUT',
  'METRICS',
  'OPENAPI',
  'ROBOTS',
  'SIGNIN',
  'SIGNUP',
  'STATIC',
  'WELL-KNOWN',
  'WWW',
]);

/** A fresh code from `randomBytes`; 256 is a multiple of 32, so every character is equally likely. */
export function generateShortCode(randomBytes: RandomBytes): string {
  let code = '';
  for (const byte of randomBytes(new Uint8Array(shortCodeLength))) {
    code += shortCodeAlphabet.charAt(byte & 31);
  }
  return code;
}

/** The form short codes are stored and looked up in. */
export function foldShortCode(text: string): string {
  return text.toUpperCase();
}

/** The partition, 0–63, of a code's scans: an integer mix (Murmur3's finaliser), so neighbours spread. */
export function partitionOf(codeNo: CodeNo): number {
  let mixed = codeNo | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) & (partitionCount - 1);
}

/** A deleted code whose analytics have expired: every trace of it is removed. */
export interface ExpiredCode {
  readonly codeNo: CodeNo;
  readonly workspaceNo: WorkspaceNo;
}
