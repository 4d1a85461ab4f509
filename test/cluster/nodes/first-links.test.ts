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
  const beats = { own: beat(7), connected: () => [beat(9), beat(8)] };
  const { check } = new FirstLinks({ monotonicMs: () => 0 }, beats);
  expect(check.problem()).toBe(coming);
  beats.own = beat(9);
  expect(check.problem()).toBeUndefined();
  beats.connected = () => [beat(12)];
  expect(check.problem()).toBeUndefined();
});

test('edges do not say how far links are; without cores a node is ready after 5 s', () => {
  let nowMs = 1_000;
  const alone = { own: beat(9), connected: () => [beat(3, 'edge')] };
  const { check } = new FirstLinks({ monotonicMs: () => nowMs }, alone);
  nowMs = 5_999;
  expect(check.problem()).toBe(coming);
  nowMs = 6_000;
  expect(check.problem()).toBeUndefined();
});
