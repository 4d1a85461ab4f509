/** Addresses as bytes: every spelling that a proxy may send, and none that it may not. */
import { isIPv4 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseIpv4, unmapped } from '../../src/http/scanner-address.ts';

describe('unmapped', () => {
  it.each([
    ['', '0'.repeat(32)],
    ['01020304', '01020304'],
    ['00000000000000000000ffff01020304', '01020304'],
    ['20010db8000000000000ffff01020304', '20010db8000000000000ffff01020304'],
  ])('%j is %s', (bytes, wanted) => {
    expect(
      Buffer.from(
        unmapped(Uint8Array.from(Buffer.from(bytes, 'hex')).buffer, new Uint8Array(4)),
      ).toString('hex'),
    ).toBe(wanted);
  });
});

describe('parseIpv4', () => {
  it('takes exactly what is a dotted address', () => {
    const part = fc.oneof(
      fc.integer({ min: 0, max: 300 }).map(String),
      fc.constantFrom('', '00', '01', '1a', ' 1', '-1', '1e1', '١'),
    );
    const texts = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('.'));
    const property = fc.property(
      fc.oneof(texts, fc.ipV4(), fc.string({ maxLength: 16 })),
      (text) => {
        const bytes = new Uint8Array(4);
        const isParsed = parseIpv4(text, bytes);
        expect(isParsed, text).toBe(isIPv4(text));
        if (isParsed) expect(bytes.join('.')).toBe(text);
      },
    );
    fc.assert(property, { numRuns: 1_000 });
  });
});
