/** Addresses as bytes: every spelling that a proxy may send, and none that it may not. */
import { isIPv4 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { ClientAddresses } from '../../src/http/client-address.ts';
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

/** Whose request it is, behind proxies and without. */

describe('ClientAddresses.resolve', () => {
  const trusting = new ClientAddresses(['10.0.0.0/8', '192.0.2.1', '2001:db8::/32']);

  test.each([
    ['an untrusted peer’s header is ignored', '198.51.100.1', '', '1.1.1.1', '198.51.100.1'],
    ['a trusted peer names the client', '10.0.0.1', '', '1.1.1.1', '1.1.1.1'],
    ['what the client put left of it is ignored', '10.0.0.1', '', '6.6.6.6, 1.1.1.1', '1.1.1.1'],
    ['trusted hops are passed over', '10.0.0.1', '', '1.1.1.1, 10.9.9.9, 192.0.2.1', '1.1.1.1'],
    ['all trusted: the leftmost', '10.0.0.1', '', '10.1.1.1, 10.2.2.2', '10.1.1.1'],
    ['garbage ends the reading', '10.0.0.1', '', '1.1.1.1, nonsense, 10.2.2.2', '10.2.2.2'],
    ['ports are cut', '10.0.0.1', '', '1.1.1.1:443', '1.1.1.1'],
    ['IPv6 with brackets and port', '10.0.0.1', '', '[2606:4700::1]:443', '2606:4700::1'],
    ['no header: the peer', '10.0.0.1', '', '', '10.0.0.1'],
    ['PROXY protocol from a trusted peer', '10.0.0.1', '1.1.1.1', '', '1.1.1.1'],
    ['PROXY protocol from anyone else', '198.51.100.1', '1.1.1.1', '', '198.51.100.1'],
    ['the proxied client’s own header is ignored', '10.0.0.1', '1.1.1.1', '6.6.6.6', '1.1.1.1'],
    ['a mapped peer is IPv4', '::ffff:10.0.0.1', '', '1.1.1.1', '1.1.1.1'],
    ['a trusted IPv6 peer', '2001:0db8:0000:0000:0000:0000:0000:0001', '', '1.1.1.1', '1.1.1.1'],
  ])('%s', (_name, peer, proxied, header, expected) => {
    expect(trusting.resolve(peer, proxied, header)).toBe(expected);
  });

  test('without trusted proxies nothing but the peer counts', () => {
    expect(new ClientAddresses([]).resolve('127.0.0.1', '1.1.1.1', '2.2.2.2')).toBe('127.0.0.1');
  });

  test('a chain of thousands of hops is read to a bounded length', () => {
    const chain = Array(5_000).fill('10.1.1.1').join(',');
    expect(trusting.resolve('10.0.0.1', '', `1.1.1.1,${chain}`)).toBe('10.1.1.1');
  });
});
