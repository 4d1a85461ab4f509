/**
 * Subscriptions to digests, and when the next one is due.
 *
 *   ask       -> due at the next 08:00 of a week or month
 *   claim     due -> the period is done, the next one is due        in one transaction, before anything is sent
 *   putBack   the mail server refused it -> due again later    five tries in eleven hours, then it is dropped
 *   off       by the member, by the link of a mail, or at a claim after the member has left
 *
 * A claim commits before its mail is sent, so a crash, a restart or a change of leader sends nothing twice. The cost: a
 * mail in transit when the process dies may be lost. A mail is sent twice only if the server accepted it and its reply was
 * lost; both have the same Message-ID.
 */
import { minuteMs } from '../../../model/day.ts';
import type { Clock } from '../../../model/clock.ts';
import { readOr } from '../../../model/failure.ts';
import type { WorkspaceNo } from '../../../model/numbers.ts';
import type { DigestFrequency, DigestRecord } from '../../../model/reports/report.ts';
import type { UserRecord } from '../../../model/workspace.ts';
import type { Management } from '../../../store/management/management.ts';
import { type LinkTokens, tokenHash } from '../link-tokens.ts';
import { lastDayDone, type LocalWeeks, nextDueMs } from './digest-schedule.ts';

/** Before the second try and later ones: a restart of the mail server, an absence, a night. */
const pausesMs: readonly number[] = [5, 30, 120, 480].map((minutes) => minutes * minuteMs);
const noDay = -1;

export interface DigestKey {
  readonly userId: string;
  readonly workspaceNo: WorkspaceNo;
}

/** A digest that is to be sent now. */
export interface DueDigest extends DigestKey {
  readonly frequency: DigestFrequency;
  /** The last day of the period that it is about. */
  readonly throughDay: number;
  /** How often it was tried, this time included. */
  readonly tries: number;
}

export interface ClaimedDigest extends DueDigest {
  readonly user: UserRecord;
  /** In its link to unsubscribe. */
  readonly token: string;
}

export interface DigestsOptions {
  readonly store: Management;
  readonly clock: Clock;
  readonly tokens: LinkTokens;
  readonly weeksOf: (workspaceNo: WorkspaceNo) => LocalWeeks;
}

export class Digests {
  readonly #options: DigestsOptions;

  constructor(options: DigestsOptions) {
    this.#options = options;
  }

  /** Undefined = the member wants no digest. */
  find({ userId, workspaceNo }: DigestKey): DigestRecord | undefined {
    const { store } = this.#options;
    const record = store.reports.digests.get([userId, workspaceNo]);
    return record !== undefined && this.#isMember(userId, workspaceNo, record) ? record : undefined;
  }

  /** The next one is due at the end of the period that runs. */
  async ask(key: DigestKey, frequency: DigestFrequency): Promise<void> {
    const { store, clock, tokens, weeksOf } = this.#options;
    await store.environment.transaction(() => {
      const before = store.reports.digests.get([key.userId, key.workspaceNo]);
      const known = this.find(key);
      const nowMs = clock.now();
      const askedAtMs = known?.askedAtMs ?? nowMs;
      const record: DigestRecord = {
        frequency,
        askedAtMs,
        tokenHash: tokens.make(tokenName(key, askedAtMs)).hash,
        doneThroughDay: known?.doneThroughDay ?? noDay,
      };
      this.#put(key, record, before);
      this.#setDue(key, nextDueMs(frequency, weeksOf(key.workspaceNo), nowMs));
    });
  }

  async end(key: DigestKey): Promise<void> {
    const { store } = this.#options;
    await store.environment.transaction(() => {
      const record = store.reports.digests.get([key.userId, key.workspaceNo]);
      if (record !== undefined) this.#remove(key, record);
    });
  }

  /** Whether the token is of a digest that is wanted. */
  isToken(token: string): boolean {
    return this.#keyOf(token) !== undefined;
  }

  /** @returns whether the token was of a digest */
  async unsubscribe(token: string): Promise<boolean> {
    const key = this.#keyOf(token);
    if (key === undefined) return false;
    await this.end(key);
    return true;
  }

  /** When the next one is sent; undefined = the member wants no digest. */
  nextAtMs(key: DigestKey): number | undefined {
    if (this.find(key) === undefined) return undefined;
    return this.#options.store.reports.digestsDue.at(key.userId, key.workspaceNo);
  }

  /** Oldest first; reads each when it is asked for. Leaves out those whose own or workspace's record is damaged. */
  *due(limit: number): Generator<DueDigest> {
    const { store, clock } = this.#options;
    for (const [, ...key] of store.reports.digestsDue.due(clock.now(), limit)) {
      const digest = readOr(() => this.#dueOf(...key), undefined);
      if (digest !== undefined) yield digest;
    }
  }

  /** @throws Failure data_damaged */
  #dueOf(userId: string, workspaceNo: WorkspaceNo): DueDigest | undefined {
    const { store, clock, weeksOf } = this.#options;
    const record = store.reports.digests.get([userId, workspaceNo]);
    if (record === undefined) return undefined;
    const { frequency, retry } = record;
    const throughDay =
      retry?.throughDay ?? lastDayDone(frequency, weeksOf(workspaceNo), clock.now());
    return { userId, workspaceNo, frequency, throughDay, tries: (retry?.tries ?? 0) + 1 };
  }

  /**
   * Takes a digest that is due: its period counts as sent from here on.
   * @returns undefined to send no mail: the digest was taken, changed or turned off meanwhile, its period was sent before,
   * or the member has left or has no proven mailbox
   */
  async claim(digest: DueDigest): Promise<ClaimedDigest | undefined> {
    const { store, clock, tokens, weeksOf } = this.#options;
    const { userId, workspaceNo, frequency, throughDay } = digest;
    return await store.environment.transaction(() => {
      const record = store.reports.digests.get([userId, workspaceNo]);
      const nowMs = clock.now();
      const dueMs = store.reports.digestsDue.at(userId, workspaceNo) ?? Infinity;
      if (record === undefined || dueMs > nowMs) return undefined;
      const user = store.users.get(userId);
      if (user === undefined || !this.#isMember(userId, workspaceNo, record)) {
        this.#remove(digest, record);
        return undefined;
      }
      const { retry, ...rest } = record;
      const { token, hash } = tokens.make(tokenName(digest, record.askedAtMs));
      const isWanted =
        frequency === record.frequency &&
        (retry === undefined
          ? throughDay > record.doneThroughDay
          : throughDay === retry.throughDay && digest.tries === retry.tries + 1);
      this.#put(
        digest,
        {
          ...rest,
          // It differs only if the signing keys changed: then links of older mails end.
          tokenHash: hash,
          doneThroughDay: Math.max(record.doneThroughDay, throughDay),
        },
        record,
      );
      this.#setDue(digest, nextDueMs(record.frequency, weeksOf(workspaceNo), nowMs));
      if (!isWanted || user.mailboxProven === false) return undefined;
      return { ...digest, user, token };
    });
  }

  /** After a try that failed. @returns whether it will be tried again */
  async putBack({ throughDay, tries, ...key }: DueDigest): Promise<boolean> {
    const { store, clock } = this.#options;
    const pauseMs = pausesMs[tries - 1];
    if (pauseMs === undefined) return false;
    return await store.environment.transaction(() => {
      const record = store.reports.digests.get([key.userId, key.workspaceNo]);
      if (record?.doneThroughDay !== throughDay || record.retry !== undefined) return false;
      const { userId, workspaceNo } = key;
      store.reports.digests.put([userId, workspaceNo], { ...record, retry: { throughDay, tries } });
      const nextMs = store.reports.digestsDue.at(userId, workspaceNo) ?? Infinity;
      this.#setDue(key, Math.min(nextMs, clock.now() + pauseMs));
      return true;
    });
  }

  #keyOf(token: string): DigestKey | undefined {
    const hash = tokenHash(token);
    const found =
      hash === undefined ? undefined : this.#options.store.reports.digestTokens.get(hash);
    if (found === undefined) return undefined;
    const [userId, workspaceNo] = found;
    return { userId, workspaceNo };
  }

  /** A member who has left and come back has not asked again. */
  #isMember(userId: string, workspaceNo: WorkspaceNo, { askedAtMs }: DigestRecord): boolean {
    const membership = this.#options.store.memberships.get([workspaceNo, userId]);
    return membership !== undefined && membership.joinedAtMs <= askedAtMs;
  }

  /** Inside a transaction. @param before the replaced record */
  #put(key: DigestKey, record: DigestRecord, before: DigestRecord | undefined): void {
    const { digests, digestTokens } = this.#options.store.reports;
    const { userId, workspaceNo } = key;
    if (before !== undefined) digestTokens.remove(before.tokenHash);
    digests.put([userId, workspaceNo], record);
    digestTokens.put(record.tokenHash, [userId, workspaceNo]);
  }

  #setDue({ userId, workspaceNo }: DigestKey, dueMs: number): void {
    this.#options.store.reports.digestsDue.set([userId, workspaceNo], dueMs);
  }

  /** Inside a transaction. */
  #remove({ userId, workspaceNo }: DigestKey, record: DigestRecord): void {
    const { digests, digestTokens, digestsDue } = this.#options.store.reports;
    digests.remove([userId, workspaceNo]);
    digestTokens.remove(record.tokenHash);
    digestsDue.set([userId, workspaceNo], undefined);
  }
}

const tokenName = ({ userId, workspaceNo }: DigestKey, askedAtMs: number): string =>
  `digest ${userId} ${workspaceNo} ${askedAtMs}`;
