/** The proof that a request comes from a machine of the cluster: what it covers, and how long it is valid. */
import { expect, test } from 'vitest';
import { MachineProof } from '../../src/cluster/machine-proof.ts';
import { TestClock } from '../support/fakes/test-clock.ts';

const key = Buffer.alloc(32, 7);
const request = { method: 'POST', path: '/v1/qr-codes' };
const clientAddress = '203.0.113.9';

function made(sent: { readonly clientAddress?: string } = { clientAddress }) {
  const clock = new TestClock();
  const proof = new MachineProof(key, clock);
  const headers = proof.headersOf({ ...request, ...sent });
  const received = (changed: Record<string, string> = {}, at: Partial<typeof request> = {}) => ({
    ...request,
    ...at,
    header: (name: string): string | undefined => ({ ...headers, ...changed })[name],
  });
  return { clock, proof, received, headers };
}

test('names the client for 30 s, by clocks that differ either way', () => {
  const { clock, proof, received } = made();
  expect(proof.clientOf(received())).toBe(clientAddress);
  clock.move(29_000);
  expect(proof.clientOf(received())).toBe(clientAddress);
  clock.move(2_000);
  expect(proof.clientOf(received())).toBeUndefined();
  expect(proof.isForwarded(received())).toBe(true);
  const ahead = made();
  ahead.clock.step(-31_000);
  expect(ahead.proof.clientOf(ahead.received())).toBeUndefined();
});

test('a machine proves itself for 30 s; a request that it forwards does not', () => {
  const { clock, proof, received } = made({});
  expect([proof.isFromMachine(received()), proof.clientOf(received())]).toEqual([true, undefined]);
  const forwarded = made();
  expect(forwarded.proof.isFromMachine(forwarded.received())).toBe(false);
  const claimed = { 'x-quietzone-client': 'machine' };
  expect(forwarded.proof.isFromMachine(forwarded.received(claimed))).toBe(false);
  clock.move(31_000);
  expect(proof.isFromMachine(received())).toBe(false);
});

test('covers the client, the method, the path and the time', () => {
  for (const sent of [{ clientAddress }, {}]) {
    const { proof, received, headers } = made(sent);
    const [seconds = '', digest = ''] = headers['x-quietzone-proof'].split('.');
    const others = [
      received({ 'x-quietzone-client': '203.0.113.10' }),
      received({}, { method: 'DELETE' }),
      received({}, { path: '/v1/qr-codes/bulk' }),
      received({ 'x-quietzone-proof': `${Number(seconds) + 1}.${digest}` }),
      received({ 'x-quietzone-proof': `${seconds}.${digest}A` }),
      received({ 'x-quietzone-proof': `${seconds}.` }),
      received({ 'x-quietzone-proof': '' }),
      { ...request, header: () => undefined },
    ];
    for (const other of others) {
      expect(proof.clientOf(other)).toBeUndefined();
      expect(proof.isFromMachine(other)).toBe(false);
      expect(proof.isForwarded(other)).toBe(false);
    }
  }
});
