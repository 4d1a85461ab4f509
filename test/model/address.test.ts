/** One parser of addresses: every spelling that a socket, a proxy or a person may send. */
import { isIP } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addressBytes,
  addressGroup,
  isLocalUrl,
  isLoopback,
  CidrSet,
  normaliseAddress,
  parseAddress,
} from '../../src/model/address.ts';
import { parseAddress as secondOpinion } from '../support/address.ts';

const hex = (text: string): string | undefined => {
  const address = parseAddress(text);
  return address === undefined ? undefined : Buffer.from(addressBytes(address)).toString('hex');
};

const zoneless = (text: string): string => text.replace(/%.*/, '');

describe('parseAddress', () => {
  it.each([
    ['1.2.3.4', '01020304'],
    ['::ffff:1.2.3.4', '01020304'],
    ['2001:db8::9', '20010db8000000000000000000000009'],
    ['fe80::1%eth0', 'fe800000000000000000000000000001'],
    ['fe80::1%br-lan.7', 'fe800000000000000000000000000001'],
  ])('%s', (text, wanted) => expect(hex(text)).toBe(wanted));

  it('reads every address that there is, and nothing else', () => {
    const part = fc.constantFrom(...': . % / [ :: 0 1 ffff: 127 256 0x7f 01'.split(' '));
    const texts = fc.oneof(
      fc.ipV6(),
      fc.ipV4(),
      fc.array(part).map((parts) => parts.join('')),
    );
    const property = fc.property(texts, (text) => {
      const canonical = isIP(text) === 6 ? new URL(`http://[${zoneless(text)}]/`).hostname : text;
      const bytes = isIP(text) === 0 ? undefined : secondOpinion(canonical.replace(/[[\]]/g, ''));
      expect(hex(text)).toBe(bytes?.toString('hex').replace(/^0{20}ffff/, ''));
    });
    fc.assert(property, { numRuns: 1_000 });
  });
});

it('normaliseAddress unwraps every spelling of mapped IPv4 and keeps the rest', () => {
  expect(normaliseAddress('0000:0000:0000:0000:0000:ffff:c000:0201')).toBe('192.0.2.1');
  expect(normaliseAddress('::FFFF:192.0.2.1')).toBe('192.0.2.1');
  expect(normaliseAddress('::ffff:c000:201')).toBe('192.0.2.1');
  expect(normaliseAddress('2001:DB8::FFFF:1')).toBe('2001:db8::ffff:1');
  expect(normaliseAddress('ffff:nonsense')).toBe('ffff:nonsense');
});

it('isLoopback knows 127/8, ::1 and its long form, and nothing else', () => {
  const inside = ['127.0.0.1', '127.9.9.9', '::1', '0000:0000:0000:0000:0000:0000:0000:0001'];
  expect(inside.filter((text) => !isLoopback(text))).toEqual([]);
  expect(['128.0.0.1', '10.0.0.1', '::2', '', '127.nonsense'].filter(isLoopback)).toEqual([]);
});

it.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:c000:201', '192.0.2.1'],
  ['2001:0db8:85a3:0000:0000:8a2e:0370:7334', '2001:db8:85a3:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
  ['1::2:3:4:5:6:7', '1:0:2:3::/64'],
  ['', ''],
  ['unknown', 'unknown'],
])('%s is of the group %s', (text, group) => expect(addressGroup(text)).toBe(group));

describe('CidrSet', () => {
  const has = (networks: string[], text: string): boolean => {
    const address = parseAddress(text);
    return address !== undefined && new CidrSet(networks).has(address);
  };

  it('matches an IPv4 address and its mapped form alike', () => {
    for (const text of ['10.255.0.1', '::ffff:10.255.0.1', '::ffff:aff:1']) {
      expect(has(['10.0.0.0/8'], text)).toBe(true);
      expect(has(['::ffff:10.0.0.0/104'], text)).toBe(true);
      expect(has(['::/0'], text)).toBe(true);
      expect(has(['11.0.0.0/8', '10.0.0.1', '2000::/3'], text)).toBe(false);
    }
  });

  it('has no network that is no address', () => {
    expect(() => new CidrSet(['10.0.0/8'])).toThrow('Cannot use the network 10.0.0/8');
  });
});

it.each([
  ['http://localhost:8081', true],
  ['https://LOCALHOST.', true],
  ['http://menu.localhost', true],
  ['http://127.0.0.1:8081', true],
  ['http://127.1', true],
  ['http://[::1]:8081', true],
  ['http://[::ffff:127.0.0.1]', true],
  ['http://0.0.0.0:8081', true],
  ['http://[::]:8081', true],
  ['https://go.example.com', false],
  ['http://localhost.example.com', false],
  ['http://192.168.1.20:8081', false],
  ['http://[2001:db8::1]:8081', false],
  ['http://128.0.0.1', false],
])('%s leads to the machine that opens it: %s', (url, isLocal) =>
  expect(isLocalUrl(url)).toBe(isLocal),
);
