/** Secrets of sessions, invites and passwords: random text, stored as a hash, compared in constant time. */
import { hash, timingSafeEqual } from 'node:crypto';
import type { RandomBytes } from '../../model/ids.ts';

/** As base64url: 4 characters for 3 bytes. */
export function randomText(bytes: number, randomBytes: RandomBytes): string {
  return Buffer.from(randomBytes(new Uint8Array(bytes))).toString('base64url');
}

/** SHA-256, base64url. */
export function hashOf(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

export function isSameText(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}
