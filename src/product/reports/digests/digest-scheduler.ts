/**
 * Sends the digests that are due, once a minute, one after the other, on the leader.
 *
 *   due -> its analytics are read -> claimed (digests.ts) -> sent, or put back
 *
 * Due times are stored, so a late or failed tick loses nothing. Reading comes before the claim, so a store that cannot be
 * read costs no period. Members of one workspace share a reading. One mail is sent at a time, and the mailer has two
 * connections: an invite does not wait for a thousand digests. Damaged records are left out.
 */
import { LRUCache } from 'lru-cache';
import type { MailedDigest } from '../../../model/reports/report.ts';
import type { Logger } from '../../../platform/log.ts';
import { Ticker } from '../../../platform/ticker.ts';
import { digestMail } from './digest-mail.ts';
import { periodThrough } from './digest-schedule.ts';
import type { ClaimedDigest, Digests, DueDigest } from './digests.ts';
import type { DigestNumbers, FoundNumbers } from './digest-numbers.ts';

const tickMs = 60_000;
/** Digests of one tick. Those that fail stay due and do not delay others. */
const dueMax = 10_000;
/** Workspaces whose analytics are cached within a tick. */
const cachedMax = 100;
/** Longest wait for a mail in transit at a stop. */
const closingMsMax = 3_000;

export interface DigestSchedulerOptions {
  readonly digests: Pick<Digests, 'due' | 'claim' | 'putBack'>;
  readonly numbers: DigestNumbers;
  /** Sends it once. @returns whether the mail server accepted it */
  readonly send: (mail: MailedDigest) => Promise<boolean>;
  /** The dashboard's address. */
  readonly publicUrl: string;
  readonly log: Logger;
}

export class DigestScheduler {
  readonly #options: DigestSchedulerOptions;
  readonly #ticker: Ticker;
  #isClosed = false;

  constructor(options: DigestSchedulerOptions) {
    this.#options = options;
    this.#ticker = new Ticker({
      everyMs: tickMs,
      run: async () => await this.tick(),
      log: options.log,
      failed: 'sending digests failed, retrying',
      resumed: 'sending digests resumed',
    });
  }

  start(): void {
    this.#ticker.start();
  }

  /**
   * Starts nothing more. Call it before the mailer and the management environment close. A mail that takes longer than the
   * wait is not put back: the server may have accepted it.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    const { promise: isLate, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, closingMsMax);
    await Promise.race([this.#ticker.close(), isLate]);
    clearTimeout(timer);
  }

  /** @returns accepted mails @throws the first failure, after the other digests */
  async tick(): Promise<number> {
    const { digests, log } = this.#options;
    const cached = new LRUCache<string, FoundNumbers>({ max: cachedMax });
    let sent = 0;
    let fault: unknown;
    for (const digest of digests.due(dueMax)) {
      if (this.#isClosed) break;
      try {
        if (await this.#send(digest, cached)) sent++;
      } catch (error) {
        fault ??= error;
      }
    }
    if (sent > 0) log.info({ sent }, 'digests sent');
    if (fault !== undefined) throw fault;
    return sent;
  }

  async #send(digest: DueDigest, cached: LRUCache<string, FoundNumbers>): Promise<boolean> {
    const { digests, send, log } = this.#options;
    const found = await this.#find(digest, cached);
    const claimed = await digests.claim(digest);
    if (claimed === undefined || found === undefined) return false;
    if (await send(this.#mailOf(claimed, found))) return true;
    if (this.#isClosed) return false;
    const isLater = await digests.putBack(claimed);
    const { workspaceNo, tries } = claimed;
    const event = isLater ? 'digest failed, retrying' : 'digest failed, given up';
    log.warn({ workspaceNo, tries }, event);
    return false;
  }

  async #find(
    { workspaceNo, frequency, throughDay }: DueDigest,
    cached: LRUCache<string, FoundNumbers>,
  ): Promise<FoundNumbers | undefined> {
    const key = `${workspaceNo} ${frequency} ${throughDay}`;
    const known = cached.get(key);
    if (known !== undefined) return known;
    const period = periodThrough(frequency, throughDay);
    const found = await this.#options.numbers.read(workspaceNo, period);
    if (found !== undefined) cached.set(key, found);
    return found;
  }

  #mailOf(
    { user, token, frequency, throughDay, workspaceNo }: ClaimedDigest,
    found: FoundNumbers,
  ): MailedDigest {
    const { publicUrl } = this.#options;
    const unsubscribeUrl = `${publicUrl}/unsubscribe/${token}`;
    const content = { ...found, frequency, url: `${publicUrl}/`, unsubscribeUrl };
    const name = `digest.${throughDay}.${workspaceNo}.${user.id}`;
    return {
      ...digestMail(content),
      to: user.email,
      messageId: `<${name}@${new URL(publicUrl).hostname}>`,
      unsubscribeUrl,
    };
  }
}
