/** Who may ask a core about its cluster: a holder of its secret, for 30 s. */
import { expect, test } from 'vitest';
import { ControlProof } from '../../../src/cluster/control/control-proof.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';

const key = Buffer.alloc(32, 7);

function made(method = 'POST', path = '/cluster/leave?name=a') {
  const clock = new TestClock();
  const proof = new ControlProof(key, clock);
  const sent = proof.headerOf(method, path);
  const received = (header: string | undefined = sent, at: object = {}) => ({
    method: 'POST',
    path: '/cluster/leave',
    query: 'name=a',
    header: (name: string): string | undefined => (name === 'authorization' ? header : undefined),
    ...at,
  });
  return { clock, proof, sent, received };
}

test('is believed for 30 s, by clocks that differ either way', () => {
  const { clock, proof, received } = made();
  expect(proof.isRight(received())).toBe(true);
  clock.move(29_000);
  expect(proof.isRight(received())).toBe(true);
  clock.move(2_000);
  expect(proof.isRight(received())).toBe(false);
  const ahead = made();
  ahead.clock.step(-31_000);
  expect(ahead.proof.isRight(ahead.received())).toBe(false);
});

test('covers the method, the path, the query and the time', () => {
  const { proof, sent, received } = made();
  const [, seconds = '', digest = ''] = /^Quietzone (\d+)\.(.+)$/.exec(sent) ?? [];
  const others = [
    received(sent, { method: 'GET' }),
    received(sent, { path: '/cluster/handover' }),
    received(sent, { query: 'name=b' }),
    received(sent, { query: '' }),
    received(`Quietzone ${Number(seconds) + 1}.${digest}`),
    received(`Quietzone ${seconds}.${digest}A`),
    received(`Quietzone ${seconds}.`),
    received(`Bearer ${seconds}.${digest}`),
    received(''),
    { ...received(), header: () => undefined },
  ];
  for (const other of others) expect(proof.isRight(other)).toBe(false);
  const stranger = new ControlProof(Buffer.alloc(32, 8), new TestClock());
  expect(stranger.isRight(received())).toBe(false);
  const status = made('GET', '/cluster/status');
  const asked = { method: 'GET', path: '/cluster/status', query: '' };
  expect(status.proof.isRight(status.received(status.sent, asked))).toBe(true);
});
