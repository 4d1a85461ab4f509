/**
 * Where `cluster.staleLinks` is `refuse`: a node redirects only while the leading core has confirmed its links recently. The
 * promise: no redirect anywhere in the cluster that starts after the answer to a change leads to the old target.
 *
 *   node      beat as a request, each 500 ms ───▶ core that holds its lease: confirms it, or not (confirmations.ts)
 *             may redirect until 2 s after the SENDING of a beat that was confirmed (links/permission.ts)
 *
 * Why it holds, by the clocks of both sides:
 *
 *   1. A permission says: when the beat was sent, the link table had the changes up to its number. It ends 2 s after that
 *      moment by the node's clock. The core notes the receipt, which is not earlier; 2.2 s after it by the core's clock
 *      the permission is over, where the clocks differ in speed by 10 % at most. A late answer grants what is left.
 *   2. The table never falls behind that number while the permission lasts: before it could, where all links come anew,
 *      the permission is revoked, and answers to beats sent before that grant nothing.
 *   3. So a change may be answered when each start of a node whose beat was confirmed has told of it since, or 2.2 s have
 *      passed since the last of its beats that was confirmed. One that was never confirmed does not redirect.
 *   4. Another leader may have confirmed beats while it held its lease, and no longer. Leases do not overlap (lead.ts), so
 *      2.2 s after this one began those permissions are over. A leader that has lost its lease without knowing sees that
 *      by its own clock at each beat; it redirects by permissions as any other node does.
 *   5. A redirect thread looks at the clock for each scan, after it was received. Where the thread, or all of the process,
 *      is stopped between that look and the answer, the scan had started before the permission ended.
 *   6. What is answered stays known: a beat is confirmed only with a number that no answered change is above. A leader
 *      begins with all changes that its log has. So a node that starts again with an older disk is not confirmed.
 *
 * It rests on monotonic clocks that go on: of a virtual machine that is suspended, the clock must not stand.
 */
import type { Timers } from '../../model/clock.ts';
import type { LinkPermission } from '../../links/permission.ts';
import type { NatsConnection } from '../nats/nats-connection.ts';
import { type Beat, beatSubject, encodeBeat } from './beat-message.ts';
import { type ContactAnswer, readContactAnswer } from './contact-message.ts';

const askMs = 500;
/** Four beats: one that is late, or lost with a connection, stops no redirect. */
export const permittedMs = 2_000;
const permitted = BigInt(permittedMs) * 1_000_000n;

export interface LinkContactOptions {
  readonly connection: Pick<NatsConnection, 'request'>;
  readonly timers: Timers;
  /** Of the machine's monotonic clock, as `permission` has it. */
  readonly nanoseconds: () => bigint;
  /** This node's beat as of now. */
  readonly beat: () => Beat;
  readonly permission: LinkPermission;
}

export class LinkContact {
  readonly #options: LinkContactOptions;
  #cancel: () => void = () => undefined;
  #asking = 0;
  #asks = 0;
  /** The newest of them that has ended, and how. */
  #ended = 0;
  /** The highest number that was confirmed: a table that falls below has no permission. */
  #confirmed = 0;
  #revocations = 0;
  #answer: ContactAnswer | undefined;
  #isClosed = false;

  constructor(options: LinkContactOptions) {
    this.#options = options;
    this.#askAgain();
  }

  /** Links have moved, or will: here the number may be lower than before. */
  moved(): void {
    if (this.#isClosed) return;
    const { beat, permission } = this.#options;
    if (beat().linkNumber < this.#confirmed) {
      this.#revocations += 1;
      this.#confirmed = 0;
      permission.revoke();
    }
    // It may have caught up.
    if (permission.isOver && this.#asking === 0) void this.#ask();
  }

  /** Why this node does not redirect now. */
  get problem(): string | undefined {
    if (!this.#options.permission.isOver) return undefined;
    const why =
      this.#answer?.isConfirmed === false
        ? 'links here are behind those of the leading core'
        : `no core that leads has answered for ${permittedMs / 1_000} s`;
    return `scans are answered with 503: ${why}`;
  }

  /** What is wrong with how the nodes are set up. */
  get mismatch(): string | undefined {
    if (this.#answer?.refuses !== false) return undefined;
    return 'cluster.staleLinks is refuse here and serve on the leading core, which waits for no node that refuses: set it alike on every node';
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
    this.#options.permission.revoke();
  }

  #askAgain(): void {
    void this.#ask();
    this.#cancel = this.#options.timers.after(askMs, () => this.#askAgain());
  }

  async #ask(): Promise<void> {
    const { connection, nanoseconds, beat, permission } = this.#options;
    // Before the number is read: it is as old as this at most.
    const sentAt = nanoseconds();
    const sent = beat();
    const revocations = this.#revocations;
    this.#asking += 1;
    const number = ++this.#asks;
    try {
      const bytes = await connection.request(beatSubject(sent), encodeBeat(sent), permittedMs);
      const answer = readContactAnswer(bytes);
      if (answer === undefined || this.#isClosed) return;
      this.#end(number, answer);
      if (!answer.isConfirmed || revocations !== this.#revocations) return;
      this.#confirmed = Math.max(this.#confirmed, sent.linkNumber);
      permission.grant(sentAt + permitted);
    } catch {
      // Nobody leads, or the brokers are away: the permission ends by itself.
      this.#end(number, undefined);
    } finally {
      this.#asking -= 1;
    }
  }

  /** One without an answer ends late: others may have had theirs. */
  #end(number: number, answer: ContactAnswer | undefined): void {
    if (number < this.#ended) return;
    this.#ended = number;
    this.#answer = answer;
  }
}
