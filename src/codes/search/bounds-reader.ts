/**
 * Statuses of the codes of a walk: paused, not started, expired, used up. The bounds of a code are in its stored link,
 * sixteen links a block (store/management/link-blocks.ts), and neighbors of a list mostly share a block. So a status needs
 * no index that time and scans would change, and no record is read. Static codes have no link: they are active.
 *
 * One is made for each walk; a change that is committed during it may or may not be seen.
 */
import type { Clock } from '../../model/clock.ts';
import { type CodeBounds, codeStatusAt, type CodeStatus } from '../../model/code.ts';
import type { CodeNo } from '../../model/numbers.ts';
import { boundsIn, linkBlockOf } from '../../store/management/link-blocks.ts';
import { readLinkBlock } from '../../store/management/link-repair.ts';
import type { Management } from '../../store/management/management.ts';

export interface BoundsOptions {
  readonly store: Management;
  readonly clock: Clock;
  readonly scansOf: (codeNo: CodeNo) => number;
}

export class BoundsReader {
  readonly #store: Management;
  readonly #nowMs: number;
  readonly #scansOf: (codeNo: CodeNo) => number;
  #blockNo = -1;
  #block: ReadonlyMap<CodeNo, CodeBounds> = new Map();
  /**
   * The result is valid until then: the next code begins or expires. A scan may use a code up at any time: then it is 0.
   */
  holdsUntilMs = Infinity;

  constructor({ store, clock, scansOf }: BoundsOptions) {
    this.#store = store;
    this.#nowMs = clock.now();
    this.#scansOf = scansOf;
  }

  /** Whether the code has the status; undefined = any. */
  isIn(status: CodeStatus | undefined, codeNo: CodeNo): boolean {
    return status === undefined || this.#statusOf(codeNo) === status;
  }

  #statusOf(codeNo: CodeNo): CodeStatus {
    const bounds = this.#find(codeNo) ?? {};
    const { startsAtMs, expiresAtMs, scanLimit } = bounds;
    const status = codeStatusAt(bounds, this.#nowMs, () => this.#scansOf(codeNo));
    if (status !== 'expired' && expiresAtMs !== undefined) {
      this.holdsUntilMs = Math.min(this.holdsUntilMs, expiresAtMs);
    }
    if (status === 'not_started' && startsAtMs !== undefined) {
      this.holdsUntilMs = Math.min(this.holdsUntilMs, startsAtMs);
    }
    if (status === 'active' && scanLimit !== undefined) this.holdsUntilMs = 0;
    return status;
  }

  #find(codeNo: CodeNo): CodeBounds | undefined {
    const blockNo = linkBlockOf(codeNo);
    if (blockNo !== this.#blockNo) {
      const block = readLinkBlock(this.#store, blockNo);
      this.#block = block === undefined ? new Map() : boundsIn(blockNo, block);
      this.#blockNo = blockNo;
    }
    return this.#block.get(codeNo);
  }
}
