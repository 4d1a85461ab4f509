/** Our signatures against the published vectors and against the verifiers that receivers use. */
import { readFileSync } from 'node:fs';
import { Webhook } from 'standardwebhooks';
import StripeClient from 'stripe';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { signHeaders } from '../../../src/webhooks/attempt/signature.ts';

interface SignatureVector {
  readonly name: string;
  readonly secrets: readonly string[];
  readonly id: string;
  readonly timestamp: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

const file = '../../fixtures/signature-vectors.json';
const { vectors } = JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as {
  vectors: readonly SignatureVector[];
};
const stripe = new StripeClient('sk_test_unused');
const sign = ({ secrets, id, timestamp, body }: Omit<SignatureVector, 'headers'>) =>
  signHeaders({ body: Buffer.from(body), id, timestampSeconds: timestamp, secrets });

afterEach(() => vi.useRealTimers());

describe('the vectors', () => {
  it.each(vectors)('$name', ({ headers, ...input }) => {
    expect(sign(input)).toEqual(headers);
  });

  it.each(vectors)('$name: both public verifiers accept it, with each of its secrets', (vector) => {
    const { body, secrets, timestamp } = vector;
    vi.useFakeTimers({ toFake: ['Date'], now: timestamp * 1_000 + 999 });
    const signed = sign(vector);
    for (const secret of secrets) {
      new Webhook(secret).verify(body, { ...signed }, { jsonParse: false });
      const header = signed['X-Service-Signature'];
      // Stripe's takes the time 0 for a header without one.
      if (timestamp === 0) continue;
      expect(stripe.webhooks.signature?.verifyHeader(body, header, secret, 300)).toBe(true);
    }
  });
});

it.each(['', 'whsec_', 'secret', 'whsec'])('the secret %j signs nothing', (secret) => {
  const input = { body: Buffer.from('{}'), id: 'evt_1', timestampSeconds: 1 };
  expect(() => signHeaders({ ...input, secrets: [secret] })).toThrow(/Cannot sign/);
});
