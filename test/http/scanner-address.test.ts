/** Addresses as bytes: every spelling that a proxy may send, and none that it may not. */
import { isIPv4 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressBytes, parseIpv4, unmapped } from '../../src/http/scanner-address.ts';

const hex = (text: string): string => Buffer.from(addressBytes(text)).toString('hex');

describe('unmapped', () => {
  it.each([
    ['', '0'.repeat(32)],
    ['01020304', '01020304'],
    ['00000000000000000000ffff01020304', '01020304'],
    ['20010db8000000000000ffff01020304', '20010db8000000000000ffff01020304'],
  ])('%j is %s', (bytes, wanted) => {
    expect(Buffer.from(unmapped(Buffer.from(bytes, 'hex'))).toString('hex')).toBe(wanted);
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

describe('addressBytes', () => {
  it.each([
    ['1.2.3.4', '01020304'],
    ['::ffff:1.2.3.4', '01020304'],
    ['0000:0000:0000:0000:0000:ffff:0102:0304', '01020304'],
    ['::', '0'.repeat(32)],
    ['::1', `${'0'.repeat(31)}1`],
    ['1::', `0001${'0'.repeat(28)}`],
    ['2001:db8::9', '20010db8000000000000000000000009'],
    ['2001:DB8:0:0:1::9', '20010db8000000000001000000000009'],
    ['1:2:3:4:5:6:7:8', '00010002000300040005000600070008'],
    ['64:ff9b::192.0.2.1', '0064ff9b0000000000000000c0000201'],
    ['fe80::1%eth0', 'fe800000000000000000000000000001'],
    ['nonsense', '0'.repeat(32)],
    ['', '0'.repeat(32)],
  ])('%s', (text, wanted) => expect(hex(text)).toBe(wanted));

  it('reads every IPv6 address that there is', () => {
    const property = fc.property(fc.ipV6(), (text) => {
      const url = new URL(`http://[${text}]/`).hostname.slice(1, -1);
      const mapped = hex(text).length === 8 ? `${'0'.repeat(20)}ffff${hex(text)}` : hex(text);
      const canonical = hex(url).length === 8 ? `${'0'.repeat(20)}ffff${hex(url)}` : hex(url);
      expect(mapped).toBe(canonical);
    });
    fc.assert(property, { numRuns: 500 });
  });
});
