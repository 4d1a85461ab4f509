/** A link as every tool has it, and what makes it one that cannot become a code. */
import type { Fault } from '../../../../model/failure.ts';
import type { RouteRule } from '../../../../model/routing/routing.ts';
import { list, text, time, type VendorRow } from './row.ts';

export interface VendorLink {
  readonly target?: string | undefined;
  /** Address of the old short link, where the tool writes one. */
  readonly shortUrl?: string | undefined;
  /** Further addresses of the same link. */
  readonly otherUrls?: readonly string[];
  readonly slug?: string | undefined;
  readonly domain?: string | undefined;
  readonly title?: string | undefined;
  readonly tags: readonly string[];
  readonly createdAt?: string | undefined;
  readonly clicks?: number | undefined;
  readonly startsAt?: string | undefined;
  readonly expiresAt?: string | undefined;
  /** Visits the old link would have taken in all. */
  readonly visitsMax?: number | undefined;
  /** In the order in which the tool tries them. */
  readonly rules?: readonly RouteRule[];
  /** Where it leads once it has ended. */
  readonly fallbackUrl?: string | undefined;
  readonly paused?: boolean;
  /** Whether the export says that it passes its query on. */
  readonly passQuery?: boolean;
  /** Why it cannot be a code; none when it can. */
  readonly faults?: readonly Fault[];
}

/** Under the names that all tools share. */
export function plainLink(row: VendorRow): VendorLink {
  return {
    domain: text(row, 'domain'),
    title: text(row, 'title'),
    tags: list(row, 'tags'),
    createdAt: time(row, 'createdat'),
  };
}

/** True in an API's answer; the password or its hash elsewhere. */
export function passwordFaults(row: VendorRow): Fault[] {
  const password = text(row, 'password') ?? 'false';
  if (/^(?:false|f|0|no|null)$/i.test(password) && row.get('password') !== true) return [];
  const message = 'The link has a password; a QR code cannot have one';
  return [{ path: '', code: 'password', message }];
}
