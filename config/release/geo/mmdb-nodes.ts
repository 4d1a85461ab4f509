/**
 * The nodes of a binary tree, each pair of sides once: a hash table with open addressing over two columns of numbers.
 *
 *     side   ≥ 0 = a node        -1 = nothing known        ≤ -2 = record -2 - side
 */

export const nothing = -1;

const slotsPerNode = 2;

export class NodeSet {
  /** Left and right of node 0, of node 1, …: side by side, because a look-up in main memory is what takes the time. */
  sides: Int32Array;
  /** Node + 1, 0 = free; a power of two of them. */
  #slots: Int32Array;
  #count = 0;

  /** @param nodesExpected above it the table is built anew, twice as large */
  constructor(nodesExpected: number) {
    const nodes = 2 ** Math.ceil(Math.log2(Math.max(1, nodesExpected)));
    this.sides = new Int32Array(nodes * 2);
    this.#slots = new Int32Array(nodes * slotsPerNode);
  }

  /** The node with these sides; the leaf itself where both sides are the same one. */
  join(left: number, right: number): number {
    if (left === right && left < 0) return left;
    const slot = this.#slotOf(left, right);
    const known = this.#slots[slot]!;
    if (known !== 0) return known - 1;
    const node = this.#count++;
    this.sides[node * 2] = left;
    this.sides[node * 2 + 1] = right;
    this.#slots[slot] = node + 1;
    if (this.#count * 2 === this.sides.length) this.#grow();
    return node;
  }

  #slotOf(left: number, right: number): number {
    const slots = this.#slots;
    const { sides } = this;
    const mask = slots.length - 1;
    let hash = Math.imul(Math.imul(left, 0x85ebca6b) ^ right, 0x9e3779b1);
    hash = Math.imul(hash ^ (hash >>> 15), 0x27d4eb2f);
    for (let slot = (hash ^ (hash >>> 14)) & mask; ; slot = (slot + 1) & mask) {
      const node = slots[slot]! - 1;
      if (node === -1 || (sides[node * 2] === left && sides[node * 2 + 1] === right)) return slot;
    }
  }

  #grow(): void {
    const { sides } = this;
    this.sides = new Int32Array(sides.length * 2);
    this.sides.set(sides);
    this.#slots = new Int32Array((this.sides.length / 2) * slotsPerNode);
    for (let at = 0; at < sides.length; at += 2) {
      this.#slots[this.#slotOf(sides[at]!, sides[at + 1]!)] = at / 2 + 1;
    }
  }
}
