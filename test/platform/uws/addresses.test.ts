/** Addresses of clients: every spelling that a proxy may send and none that it may not; the bound of unknown codes. */
import { isIPv4 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { ClientAddresses } from '../../../src/platform/uws/client-address.ts';
import { MissThrottle, unknownPerMinuteMax } from '../../../src/engine/redirect/miss-throttle.ts';
import { parseIpv4, unmapped } from '../../../src/engine/redirect/scanner-address.ts';

it.each([
  ['', '0'.repeat(32)],
  ['01020304', '01020304'],
  ['00000000000000000000ffff01020304', '01020304'],
  ['20010db8000000000000ffff01020304', '20010db8000000000000ffff01020304'],
])('unmapped %j is %s', (bytes, wanted) => {
  const given = Uint8Array.from(Buffer.from(bytes, 'hex')).buffer;
  expect(Buffer.from(unmapped(given, new Uint8Array(4))).toString('hex')).toBe(wanted);
});

it('parseIpv4 takes exactly what is a dotted address', () => {
  const part = fc.oneof(
    fc.integer({ min: 0, max: 300 }).map(String),
    fc.constantFrom('', '00', '01', '1a', ' 1', '-1', '1e1', '١'),
  );
  const texts = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('.'));
  const property = fc.property(fc.oneof(texts, fc.ipV4(), fc.string({ maxLength: 16 })), (text) => {
    const bytes = new Uint8Array(4);
    const isParsed = parseIpv4(text, bytes);
    expect(isParsed, text).toBe(isIPv4(text));
    if (isParsed) expect(bytes.join('.')).toBe(text);
  });
  fc.assert(property, { numRuns: 1_000 });
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

/** Exact per bucket and minute. */

const minuteMs = 60_000;
const nowMs = 29_000_000 * minuteMs;
const ipv4 = (last: number): Uint8Array => Uint8Array.of(203, 0, 113, last);
const ipv6 = (net: number, host: number): Uint8Array =>
  Uint8Array.from([32, 1, 13, 184, 0, 0, 0, net, 0, 0, 0, 0, 0, 0, 0, host]);

function granted(throttle: MissThrottle, address: Uint8Array, tries: number, atMs: number): number {
  let count = 0;
  for (let i = 0; i < tries; i++) if (!throttle.isOver(address, atMs)) count++;
  return count;
}

describe('MissThrottle', () => {
  it('grants exactly the bound in every minute, to its last millisecond', () => {
    const throttle = new MissThrottle(12_345);
    expect(granted(throttle, ipv4(1), 400, nowMs)).toBe(unknownPerMinuteMax);
    expect(granted(throttle, ipv4(1), 100, nowMs + minuteMs - 1)).toBe(0);
    expect(granted(throttle, ipv4(2), 400, nowMs)).toBe(unknownPerMinuteMax);
    expect(granted(throttle, ipv4(1), 400, nowMs + minuteMs)).toBe(unknownPerMinuteMax);
  });

  it('counts an IPv6 network as one', () => {
    const throttle = new MissThrottle(1);
    for (let host = 0; host < unknownPerMinuteMax; host++)
      expect(throttle.isOver(ipv6(1, host), nowMs)).toBe(false);
    expect(throttle.isOver(ipv6(1, 99), nowMs)).toBe(true);
    expect(throttle.isOver(ipv6(2, 0), nowMs)).toBe(false);
  });

  it('spreads addresses over its buckets, differently with every seed', () => {
    const buckets = (seed: number): Set<number> => {
      const throttle = new MissThrottle(seed);
      for (let i = 0; i < 4_096; i++) {
        throttle.isOver(Uint8Array.of(10, 0, i >>> 8, i & 255), nowMs);
      }
      const cells = new Int32Array(throttle.memory);
      return new Set([...cells.keys()].filter((at) => cells[at] !== 0));
    };
    const first = buckets(1);
    const second = buckets(2);
    // 4,096 balls into 65,536 bins fill 3,971 of them on average.
    expect(first.size).toBeGreaterThan(3_850);
    expect([...first].filter((at) => second.has(at)).length).toBeLessThan(500);
  });
});
