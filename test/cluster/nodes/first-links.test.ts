/** A node that has just started says when it has the links of the others. */
import { expect, test } from 'vitest';
import type { Beat } from '../../../src/cluster/nodes/beat-message.ts';
import { FirstLinks } from '../../../src/cluster/nodes/first-links.ts';

const beat = (linkNumber: number, role: Beat['role'] = 'all'): Beat => ({
  name: 'n',
  instance: 'n_1',
  role,
  redirects: true,
  url: '',
  linkNumber,
  isLast: false,
  version: '1',
  journaled: { atMs: 0, tails: [] },
});
const coming = 'links that changed while this node was stopped are coming';

test('links are coming until this node has what the cores have, and never again', () => {
  const links = new FirstLinks({ monotonicMs: () => 0 });
  expect(links.problem(undefined)).toBe(coming);
  expect(links.problem({ own: beat(7), connected: () => [beat(9), beat(8)] })).toBe(coming);
  expect(links.problem({ own: beat(9), connected: () => [beat(9), beat(8)] })).toBeUndefined();
  expect(links.problem({ own: beat(9), connected: () => [beat(12)] })).toBeUndefined();
});

test('edges do not say how far links are; without cores a node is ready after 5 s', () => {
  let nowMs = 1_000;
  const links = new FirstLinks({ monotonicMs: () => nowMs });
  const alone = { own: beat(9), connected: () => [beat(3, 'edge')] };
  expect(links.problem(alone)).toBe(coming);
  nowMs = 5_999;
  expect(links.problem(alone)).toBe(coming);
  nowMs = 6_000;
  expect(links.problem(alone)).toBeUndefined();
});
