/**
 * The QR code: its record, its short code, and the partition of its scans.
 *
 * A generated short code has 8 characters of upper-case Crockford base 32 (40 bits): it fits the alphanumeric mode
 * of the symbol and has no look-alikes. A custom slug keeps its spelling. Look-ups fold both to upper case.
 */
import type { Design } from './design.ts';
import { base32Alphabet, type RandomBytes } from './ids.ts';
import type { CodeNo, WorkspaceNo } from './numbers.ts';
import type { Routing } from './routing/routing.ts';

export const codeTypes = ['url', 'text', 'email', 'phone', 'sms', 'wifi', 'vcard', 'geo'] as const;
export type CodeType = (typeof codeTypes)[number];

export interface QrCodeRecord {
  readonly id: string;
  /** Dense, from 1, below 2^32: the key in scans and rollups. */
  readonly no: CodeNo;
  readonly workspaceId: string;
  readonly workspaceNo: WorkspaceNo;
  readonly type: CodeType;
  /** Normalized; for `url` the WHATWG href. */
  readonly target: string;
  readonly dynamic: boolean;
  /** Dynamic codes only; a custom slug as it was written. */
  readonly shortCode?: string;
  readonly name?: string;
  readonly tags: readonly string[];
  readonly expiresAtMs?: number;
  readonly scanLimit?: number;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly externalId?: string;
  readonly design?: Design;
  /** Absent = the code always leads to its target. */
  readonly routing?: Routing;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly createdBy: string;
  /** The record of a deleted code stays for its analytics. */
  readonly deletedAtMs?: number;
}

/** The part of a code in its scan events; the id alone when its record is damaged. */
export type ScannedCode = Pick<QrCodeRecord, 'id' | 'routing'>;

/** In the order in which a redirect checks them. */
export const codeStatuses = ['active', 'paused', 'not_started', 'expired', 'used_up'] as const;
export type CodeStatus = (typeof codeStatuses)[number];

export const codeSorts = ['-createdAt', 'createdAt'] as const;
export type CodeSort = (typeof codeSorts)[number];

/** State of a short link; `damaged`: its stored records cannot be read. */
export type LinkState = 'live' | 'deleted' | 'damaged';

export interface CodeBounds {
  readonly paused?: boolean | undefined;
  readonly startsAtMs?: number | undefined;
  readonly expiresAtMs?: number | undefined;
  readonly scanLimit?: number | undefined;
}

/** @param scans lifetime scans, called for limited codes only */
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
/** A shard owns complete partitions. The number is in the data, so it never changes. */
export const partitionCount = 64;

const shortCodeAlphabet = base32Alphabet.toUpperCase();

/** Folded paths that must not become a code or its first segment. */
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

/** 256 is a multiple of 32, so every character is equally likely. */
export function generateShortCode(randomBytes: RandomBytes): string {
  let code = '';
  for (const byte of randomBytes(new Uint8Array(shortCodeLength))) {
    code += shortCodeAlphabet.charAt(byte & 31);
  }
  return code;
}

export function foldShortCode(text: string): string {
  return text.toUpperCase();
}

/** The partition of a code's scans, 0 to 63, by Murmur3's finalizer, which spreads neighbors. */
export function partitionOf(codeNo: CodeNo): number {
  let mixed = codeNo | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) & (partitionCount - 1);
}

/** A deleted code whose analytics have expired. */
export interface ExpiredCode {
  readonly codeNo: CodeNo;
  readonly workspaceNo: WorkspaceNo;
}
