/** A node that has just started says when it has the links of the others. */
import { expect, test } from 'vitest';
import { firstLinksCheck } from '../../../src/cluster/nodes/first-links.ts';

const coming = 'links that changed while this node was stopped are coming';

test('links are coming until this node has what the cores have, and never again', () => {
  const beats = { linksBehind: 2 };
  const { problem } = firstLinksCheck({ monotonicMs: () => 0 }, beats);
  expect(problem()).toBe(coming);
  beats.linksBehind = 0;
  expect(problem()).toBeUndefined();
  beats.linksBehind = 3;
  expect(problem()).toBeUndefined();
});

test('without cores a node is ready after 5 s', () => {
  let nowMs = 1_000;
  const { problem } = firstLinksCheck({ monotonicMs: () => nowMs }, { linksBehind: undefined });
  nowMs = 5_999;
  expect(problem()).toBe(coming);
  nowMs = 6_000;
  expect(problem()).toBeUndefined();
});
