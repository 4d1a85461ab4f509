/**
 * Which codes of a walk are expired or over their limit. What ends a code is in its stored link, sixteen of
 * them a block (store/management/link-blocks.ts), and neighbours of a list are mostly of one block: so a status needs
 * no index, which time and scans would have to keep, and no record is read. Static codes have no link: they are active.
 *
 * One is made for each walk; a change that is committed during it may or may not be seen.
 */
import type { Clock } from '../../model/clock.ts';
import { codeStatusAt, type CodeStatus } from '../../model/code.ts';
import type { CodeNo } from '../../model/numbers.ts';
import { boundsIn, linkBlockOf, type LinkBounds } from '../../store/management/link-blocks.ts';
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
  #block: readonly LinkBounds[] = [];
  /**
   * What was found holds until then: the next code expires, or a scan may be a code's last, which can be
   * at once.
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
    const bounds = this.#find(codeNo);
    if (bounds === undefined) return 'active';
    const { scanLimit } = bounds;
    const expiresAtMs = bounds.expiresAtMs === 0 ? undefined : bounds.expiresAtMs;
    const link = {
      ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
      ...(scanLimit === undefined ? {} : { scanLimit }),
    };
    const status = codeStatusAt(link, this.#nowMs, () => this.#scansOf(codeNo));
    if (status !== 'expired' && expiresAtMs !== undefined) {
      this.holdsUntilMs = Math.min(this.holdsUntilMs, expiresAtMs);
    }
    if (status === 'active' && scanLimit !== undefined) this.holdsUntilMs = 0;
    return status;
  }

  #find(codeNo: CodeNo): LinkBounds | undefined {
    const blockNo = linkBlockOf(codeNo);
    if (blockNo !== this.#blockNo) {
      const block = this.#store.links.get(blockNo);
      this.#block = block === undefined ? [] : boundsIn(blockNo, block);
      this.#blockNo = blockNo;
    }
    return this.#block.find((link) => link.codeNo === codeNo);
  }
}
