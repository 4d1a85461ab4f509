/** The proof of a forwarded request: what it covers, and for how long it is believed. */
import { expect, test } from 'vitest';
import { ForwardingProof } from '../../../src/cluster/forward/forwarding-proof.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';

const key = Buffer.alloc(32, 7);
const request = { method: 'POST', path: '/v1/qr-codes', clientAddress: '203.0.113.9' };

function made() {
  const clock = new TestClock();
  const proof = new ForwardingProof(key, clock);
  const headers = proof.headersOf(request);
  const received = (changed: Record<string, string> = {}, at: Partial<typeof request> = {}) => ({
    ...request,
    ...at,
    header: (name: string): string | undefined => ({ ...headers, ...changed })[name],
  });
  return { clock, proof, received, headers };
}

test('names the client for 30 s, by clocks that differ either way', () => {
  const { clock, proof, received } = made();
  expect(proof.clientOf(received())).toBe('203.0.113.9');
  clock.move(29_000);
  expect(proof.clientOf(received())).toBe('203.0.113.9');
  clock.move(2_000);
  expect(proof.clientOf(received())).toBeUndefined();
  expect(proof.isForwarded(received())).toBe(true);
  const ahead = made();
  ahead.clock.step(-31_000);
  expect(ahead.proof.clientOf(ahead.received())).toBeUndefined();
});

test('covers the address, the method, the path and the time', () => {
  const { proof, received, headers } = made();
  const [seconds = '', digest = ''] = (headers['x-quietzone-proof'] ?? '').split('.');
  const others = [
    received({ 'x-quietzone-client': '203.0.113.10' }),
    received({}, { method: 'DELETE' }),
    received({}, { path: '/v1/qr-codes/bulk' }),
    received({ 'x-quietzone-proof': `${Number(seconds) + 1}.${digest}` }),
    received({ 'x-quietzone-proof': `${seconds}.${digest}A` }),
    received({ 'x-quietzone-proof': `${seconds}.` }),
    received({ 'x-quietzone-proof': '' }),
  ];
  for (const other of others) {
    expect(proof.clientOf(other)).toBeUndefined();
    expect(proof.isForwarded(other)).toBe(false);
  }
  const stranger = new ForwardingProof(Buffer.alloc(32, 8), new TestClock());
  expect(stranger.clientOf(received())).toBeUndefined();
});
