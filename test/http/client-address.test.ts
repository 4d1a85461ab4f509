/** Whose request it is, behind proxies and without. */
import { describe, expect, test } from 'vitest';
import { ClientAddresses } from '../../src/http/client-address.ts';

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
