/**
 * Makes guessing passwords slow: each failure in a row doubles the wait, per account and per client address.
 * An account is a folded e-mail, whether it exists or not, so refusals reveal nothing. Its wait is a minute
 * at most: about 1,500 guesses a day for an attacker, and its owner is never locked out for long.
 * An attempt counts as failed from its start, so that a thousand at once are not a thousand guesses.
 * An invite's acceptance is a guess too (accounts.ts). It counts against the inviting workspace in place of the
 * client: thirty people behind one address may join within an hour, and sign in meanwhile.
 * Only the owner of an address is forgiven earlier failures by a success: a person who has some other account of
 * the address (users.ts) could sign in there between guesses.
 *
 * In memory only, and bounded: the entry that was used longest ago goes first.
 */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { addressGroup } from '../../model/address.ts';
import type { Clock } from '../../model/clock.ts';
import { Failure } from '../../model/failure.ts';
import type { WorkspaceNo } from '../../model/numbers.ts';

/** About 150 bytes each: 10 MB at most. */
const entriesMax = 65_536;
/** After so long without a failure, an account or address has no failures. */
const memoryMs = 3_600_000;

interface Limits {
  /** Failures without a wait. */
  readonly free: number;
  readonly waitMsMax: number;
}
const accountLimits: Limits = { free: 5, waitMsMax: 60_000 };
const clientLimits: Limits = { free: 15, waitMsMax: 900_000 };
const invitesLimits: Limits = { free: 200, waitMsMax: 900_000 };

/** Where an attempt comes from: a client's IP address, or the invites of a workspace. */
export type AttemptSource = { readonly client: string } | { readonly invitesOf: WorkspaceNo };

interface Entry {
  failures: number;
  lastMs: number;
  waitUntilMs: number;
}

/** One attempt: failed unless it says otherwise. */
export interface Attempt {
  /** The owner of the address signed in: earlier failures are forgiven. */
  succeed(): void;
  /** Does not count it: the password was not checked, or belongs to one of several accounts of the address. */
  withdraw(): void;
}

export class SignInThrottle {
  readonly #clock: Clock;
  readonly #entries: LRUCache<string, Entry>;

  constructor(clock: Clock, max = entriesMax) {
    this.#clock = clock;
    // With `max` the library allocates for that many at once: 1.3 MB.
    this.#entries = new LRUCache({ maxSize: max, sizeCalculation: () => 1 });
  }

  /** @param account folded e-mail @throws Failure rate_limited with the seconds to wait */
  begin(account: string, source: AttemptSource): Attempt {
    const nowMs = this.#clock.monotonicMs();
    // Hashed: an entry has the same size whatever was sent.
    const accountEntry = this.#entryOf(`account:${hash('sha256', account, 'base64url')}`, nowMs);
    const isClient = 'client' in source;
    const sourceEntry = this.#entryOf(
      isClient ? `client:${addressGroup(source.client)}` : `invites:${source.invitesOf}`,
      nowMs,
    );
    const untilMs = Math.max(accountEntry.waitUntilMs, sourceEntry.waitUntilMs);
    if (untilMs > nowMs) {
      const retryAfterSeconds = Math.max(1, Math.ceil((untilMs - nowMs) / 1_000));
      throw new Failure(
        'rate_limited',
        `Too many failed attempts, the next one is possible in ${retryAfterSeconds} s`,
        { retryAfterSeconds },
      );
    }
    fail(accountEntry, accountLimits, nowMs);
    fail(sourceEntry, isClient ? clientLimits : invitesLimits, nowMs);
    return {
      succeed: () => {
        forgive(accountEntry, accountEntry.failures);
        forgive(sourceEntry, 1);
      },
      withdraw: () => {
        forgive(accountEntry, 1);
        forgive(sourceEntry, 1);
      },
    };
  }

  #entryOf(key: string, nowMs: number): Entry {
    const known = this.#entries.get(key);
    if (known !== undefined && nowMs - known.lastMs < memoryMs) return known;
    const fresh: Entry = { failures: 0, lastMs: nowMs, waitUntilMs: 0 };
    this.#entries.set(key, fresh);
    return fresh;
  }
}

function fail(entry: Entry, { free, waitMsMax }: Limits, nowMs: number): void {
  entry.failures += 1;
  entry.lastMs = nowMs;
  const beyond = entry.failures - free;
  if (beyond <= 0) return;
  // 2^20 s is beyond every bound: no overflow after that.
  entry.waitUntilMs = nowMs + Math.min(waitMsMax, 1_000 * 2 ** Math.min(20, beyond - 1));
}

function forgive(entry: Entry, failures: number): void {
  entry.failures = Math.max(0, entry.failures - failures);
  entry.waitUntilMs = 0;
}
