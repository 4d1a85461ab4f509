/**
 * The end of a campaign waits for what other nodes have journaled. A minute at most: campaign-scheduler.test.ts. With real
 * nodes, an edge that is cut off and a leader that dies: test/cluster/roles/interrupted-nodes.cluster.test.ts.
 */
import { expect, it } from 'vitest';
import { ClusterCounting } from '../../../src/cluster/scans/cluster-counting.ts';

const endMs = 10_000;

/** Core `a` waits for the end. Edge `e` writes journal 2, of which the core has counted 100 bytes. */
class Waiting {
  readonly nodes = [
    { name: 'a', journals: [1] },
    { name: 'core', journals: [] },
    { name: 'e', journals: [2] },
  ];
  countedOfEdge = 100;
  hasCountedOwn = true;
  #beat: { isLast: boolean; journaled: { atMs: number; tails: [[2, number]] } } | undefined;
  #tail = 0;
  readonly #mark = new ClusterCounting({
    name: 'a',
    local: {
      mark: () => ({
        add: (tails) => {
          for (const [, tail] of tails) this.#tail = tail;
        },
        isPast: () => this.hasCountedOwn && this.countedOfEdge >= this.#tail,
      }),
    },
    nodes: () => this.nodes,
    last: (name) => (name === 'e' ? this.#beat : undefined),
  }).mark(endMs);

  isOver(): boolean {
    return this.#mark.isPast();
  }

  /** @returns whether it is over with this beat of the edge */
  beat(atMs: number, tail: number, isLast = false): boolean {
    this.#beat = { isLast, journaled: { atMs, tails: [[2, tail]] } };
    return this.isOver();
  }
}

it('waits for a beat of the end or later by the clock of the node, and for its scans of then', () => {
  const waiting = new Waiting();
  expect(waiting.isOver()).toBe(false);
  expect(waiting.beat(endMs - 1, 0)).toBe(false);
  expect(waiting.beat(endMs, 101)).toBe(false);
  // Later scans are not of the campaign.
  expect(waiting.beat(endMs + 500, 900)).toBe(false);
  waiting.countedOfEdge = 101;
  expect(waiting.isOver()).toBe(true);
});

it('does not wait for a node that ended before with all its scans counted, or has left', () => {
  expect(new Waiting().beat(endMs - 5_000, 100, true)).toBe(true);
  expect(new Waiting().beat(endMs - 5_000, 101, true)).toBe(false);
  const waiting = new Waiting();
  waiting.nodes.pop();
  expect(waiting.isOver()).toBe(true);
});

it('waits for the journals of its own core', () => {
  const waiting = new Waiting();
  waiting.hasCountedOwn = false;
  expect(waiting.beat(endMs, 0)).toBe(false);
});
