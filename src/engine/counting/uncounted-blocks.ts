/**
 * Committed blocks that are not counted yet. Counted together they load a code's numbers into the processor's cache once: for
 * 10,000 codes that was most of the price of a scan.
 */
import type { ScanBlock } from './block.ts';
import { NumberOrder } from './number-order.ts';

/** Three seconds of windows. */
const blocksMax = 24;
/** Large windows, while catching up, are counted sooner. */
const bytesMax = 33_554_432;

export class UncountedBlocks {
  #blocks: ScanBlock[] = [];
  #bytes = 0;
  readonly #order = new NumberOrder();
  /** For each group: its number, its index in its block, and the block's index. */
  #numbers = new Uint32Array(0);
  #groups = new Uint32Array(0);
  #blockOf = new Uint32Array(0);

  add(block: ScanBlock): void {
    this.#blocks.push(block);
    this.#bytes += block.length;
  }

  get isFull(): boolean {
    return this.#blocks.length >= blocksMax || this.#bytes >= bytesMax;
  }

  /** Visits the groups of all blocks, ascending by a number of theirs; equal numbers in order of arrival. */
  each(
    numberOf: (block: ScanBlock, group: number) => number,
    visit: (number: number, block: ScanBlock, group: number) => void,
  ): void {
    const blocks = this.#blocks;
    this.#fit(blocks.reduce((sum, { groups }) => sum + groups, 0));
    let count = 0;
    for (const [at, block] of blocks.entries()) {
      for (let group = 0; group < block.groups; group++) {
        this.#numbers[count] = numberOf(block, group);
        this.#groups[count] = group;
        this.#blockOf[count] = at;
        count++;
      }
    }
    const order = this.#order.of(this.#numbers, count);
    for (let at = 0; at < count; at++) {
      const index = order[at]!;
      visit(this.#numbers[index]!, blocks[this.#blockOf[index]!]!, this.#groups[index]!);
    }
  }

  clear(): void {
    this.#blocks = [];
    this.#bytes = 0;
  }

  #fit(count: number): void {
    if (count <= this.#numbers.length) return;
    this.#numbers = new Uint32Array(count);
    this.#groups = new Uint32Array(count);
    this.#blockOf = new Uint32Array(count);
  }
}
