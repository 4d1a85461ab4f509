/** Which addresses a webhook may reach, in every way an address can be written, named or answered. */
import { mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { AddressGuard, Egress, urlFault } from '../../../src/webhooks/attempt/egress.ts';
import { openNameLookup } from '../../../src/webhooks/attempt/name-lookup.ts';
import { parseAddress } from '../../support/address.ts';
import { openNameServer } from './sender.ts';

const guard = new AddressGuard([]);

/** As the contract lists them. */
const deniedIpv4 =
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4 168.63.129.16/32'.split(
    ' ',
  );
const deniedIpv6 = '2001::/23 2001:db8::/32 2002::/16 3fff::/20'.split(' ');

/** A second opinion: whole numbers and shifts. */
const numberOf = (address: string): bigint =>
  BigInt(`0x${parseAddress(address).toString('hex')}`) &
  (address.includes(':') ? 2n ** 128n - 1n : 2n ** 32n - 1n);
const within = (value: bigint, width: number, networks: readonly string[]): boolean =>
  networks.some((network) => {
    const [address = '', bits = ''] = network.split('/');
    const shift = BigInt(width - Number(bits));
    return value >> shift === numberOf(address) >> shift;
  });
const deniedAsIpv4 = (value: bigint): boolean => within(value, 32, deniedIpv4);
const deniedAsIpv6 = (value: bigint): boolean => {
  const isMapped = value >> 32n === 0xffffn;
  const isNat64 = value >> 32n === numberOf('64:ff9b::') >> 32n;
  if (isMapped || isNat64) return deniedAsIpv4(value & 0xffff_ffffn);
  return !within(value, 128, ['2000::/3']) || within(value, 128, deniedIpv6);
};
const ipv4 = (value: bigint): string =>
  [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join('.');
const ipv6 = (value: bigint): string =>
  Array.from({ length: 8 }, (_, at) =>
    ((value >> BigInt(112 - at * 16)) & 0xffffn).toString(16),
  ).join(':');

/** The first and last address of a network, and their neighbours outside. */
function edges(network: string, width: number): bigint[] {
  const [address = '', bits = ''] = network.split('/');
  const first = numberOf(address);
  const last = first + 2n ** BigInt(width - Number(bits)) - 1n;
  return [first - 1n, first, first + 1n, last - 1n, last, last + 1n].map((value) =>
    BigInt.asUintN(width, value),
  );
}

describe('AddressGuard', () => {
  const others4 = '192.175.48.0/24 192.31.196.0/24 192.52.193.0/24'.split(' ');
  const others6 =
    '2000::/3 ::/128 ::1/128 fc00::/7 fe80::/10 ff00::/8 64:ff9b:1::/48 64:ff9b::/96 ::ffff:0:0/96 ::/96 100::/64'.split(
      ' ',
    );
  it.each([
    ['IPv4', 32, [...deniedIpv4, ...others4], ipv4, deniedAsIpv4],
    ['IPv6', 128, [...deniedIpv6, ...others6], ipv6, deniedAsIpv6],
  ] as const)(
    'denies of %s what is listed, to the last address',
    (_, width, all, textOf, denied) => {
      for (const value of all.flatMap((network) => edges(network, width))) {
        const text = textOf(value);
        expect([text, guard.isDenied(text)]).toEqual([text, denied(value)]);
      }
    },
  );

  it('agrees with the second opinion on any address', () => {
    const inner = fc.bigInt(0n, 2n ** 32n - 1n);
    const prefixes = ['::ffff:0:0', '64:ff9b::', '64:ff9b:1::', '2002::', '2001:200::', '::'];
    fc.assert(
      fc.property(inner, (value) => guard.isDenied(ipv4(value)) === deniedAsIpv4(value)),
      { numRuns: 2_000 },
    );
    const wide = fc.oneof(
      fc.bigInt(0n, 2n ** 128n - 1n),
      fc.bigInt(2n ** 125n, 2n ** 126n - 1n),
      fc.tuple(fc.constantFrom(...prefixes), inner).map(([to, from]) => numberOf(to) | from),
    );
    fc.assert(
      fc.property(wide, (value) => guard.isDenied(ipv6(value)) === deniedAsIpv6(value)),
      { numRuns: 2_000 },
    );
  });

  it.each(['', 'localhost', '1.2.3', '2600::1%eth0', '[2600::1]', '8.8.8.8 '])(
    'denies %j, which is no address',
    (text) => expect(guard.isDenied(text)).toBe(true),
  );

  it('opens what the operator allows, and nothing beside it', () => {
    const open = new AddressGuard(['127.0.0.0/8', 'fd00::/8', '10.1.0.0/16', '2002::/16']);
    const opened = '127.0.0.1 127.255.255.255 ::ffff:127.0.0.1 fd12::1 10.1.9.9 128.0.0.1'.split(
      ' ',
    );
    expect(opened.filter((address) => open.isDenied(address))).toEqual([]);
    const denied = '::1 fc00::1 10.2.0.1 10.0.255.255 192.168.0.1'.split(' ');
    expect(denied.filter((address) => !open.isDenied(address))).toEqual([]);
    expect(open.isDenied('2002:808:808::1')).toBe(false);
    expect(open.isDenied('2002:c0a8:1::1')).toBe(true);
    expect(new AddressGuard(['0.0.0.0/0', '::/0']).isDenied('169.254.169.254')).toBe(false);
  });
});

/** 127.0.0.1 and its like, and the metadata services of clouds. */
const deniedUrls = [
  '127.0.0.1 127.1 127.0.1 2130706433 0x7f000001 0x7f.1 0X7F.0.0.1 0177.0.0.1 017700000001 127.0.0.1. 127.0.0.01',
  '127.255.255.254 0 0.0.0.0 0x0 00000000000 0.0.0.0. 10.0.0.1 0xa.1 012.0.0.1 167772161 172.16.0.1 172.31.255.255',
  '192.168.0.1 0xc0.0xa8.0.1 0xc0a80001 192.168.1 3232235521 100.64.0.1 169.254.169.254 0xa9fea9fe 2852039166',
  '0251.0376.0251.0376 169.254.43518 168.63.129.16 100.100.100.200 192.0.0.192 198.18.0.1 224.0.0.1 255.255.255.255',
  '[::] [::1] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1] [0:0:0:0:0:FFFF:7F00:0001] [::127.0.0.1]',
  '[::ffff:0:127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::10.0.0.1] [64:ff9b:1::1] [64:ff9b:1::808:808] [2002:7f00:1::]',
  '[2002:c0a8:101::1] [2002:808:808::] [2001::1] [2001:0:7f00:1::] [2001:db8::1] [3fff::1] [fe80::1] [fc00::1]',
  '[fd00:ec2::254] [fec0::1] [ff02::1] [100::1] [4000::1] [1fff::1] [5f00::1]',
  'localhost LOCALHOST localhost. localhoſt api.localhost a.b.localhost.',
  '１２７.０.０.１ ①②⑦.⓪.⓪.① 127。0。0。1 127%2e0%2e0%2e1 %31%32%37.1 0x7F.00000000000000000001 ⓛocalhost',
].flatMap((line) => line.split(' '));

describe('urlFault', () => {
  it.each(deniedUrls)('refuses %s', (host) => {
    for (const url of [`http://${host}/`, `https://${host}:8443/hook?a=b`, `HTTP://${host}`]) {
      expect(urlFault(guard, url)).toMatchObject({ path: 'url', code: 'blocked_ip' });
    }
  });

  it.each([
    'http://example.com',
    'https://example.com:8443/a/b?c=d#e',
    'http://134744072/',
    'https://[2606:4700::1111]/',
    'https://[::ffff:8.8.8.8]/',
    'https://bücher.example/pfad/ü?q=ß',
    'https://localhost.example.com/',
    'https://example.com/a@b',
  ])('takes %s', (url) => expect(urlFault(guard, url)).toBeUndefined());

  it.each([
    ['', 'invalid_url'],
    ['example.com/hook', 'invalid_url'],
    ['http:example.com', 'invalid_url'],
    ['http://a..b:99999/', 'invalid_url'],
    ['http://1.2.3.4.5/', 'invalid_url'],
    ['http://[fe80::1%25eth0]/', 'invalid_url'],
    ['ftp://example.com/', 'invalid_url'],
    ['javascript:alert(1)', 'invalid_url'],
    ['http://user:password@example.com/', 'credentials'],
    ['http://@example.com/', 'credentials'],
    ['http://example.com@127.0.0.1/', 'credentials'],
    ['http:\\\\127.0.0.1\\', 'invalid_url'],
    ['http://example.com\\@127.0.0.1/', 'undefined'],
    [' http://example.com/', 'invalid_characters'],
    ['http://example.com/\r\nX-Header: 1', 'invalid_characters'],
    ['http://example.com/\u0000', 'invalid_characters'],
    ['http://exam\u200bple.com/', 'invalid_characters'],
    [`http://example.com/${'a'.repeat(2_048)}`, 'too_long'],
  ])('answers %j with %s', (url, code) => {
    expect(String(urlFault(guard, url)?.code)).toBe(code);
  });

  it('takes an opened address, and localhost by the loopback address that is opened', () => {
    const open = new AddressGuard(['127.0.0.0/8']);
    expect(urlFault(open, 'http://0x7f.1:8080/')).toBeUndefined();
    expect(urlFault(open, 'http://localhost:8080/')).toBeUndefined();
    expect(urlFault(open, 'http://[::1]:8080/')).toMatchObject({ code: 'blocked_ip' });
    expect(new Egress(open, { resolve: never }).target('http://localhost:8080/')).toMatchObject({
      origin: 'http://localhost:8080',
      path: '/',
      addresses: ['127.0.0.1'],
    });
  });
});

const never = (): never => {
  throw new Error('Nobody is to be asked');
};

describe('names', () => {
  const answers: Readonly<Record<string, readonly string[]>> = {
    'public.test': ['93.184.216.34', '2606:2800::1'],
    'mixed.test': ['93.184.216.34', '10.0.0.5'],
    'other-family.test': ['93.184.216.34', '::1'],
    'mapped.test': ['::ffff:7f00:1'],
    'nat64.test': ['64:ff9b::a9fe:a9fe'],
    'tunnel.test': ['2002:7f00:1::'],
    'many.test': Array.from({ length: 20 }, (_, index) => `93.184.216.${index}`),
    'many-and-one.test': [
      ...Array.from({ length: 20 }, (_, at) => `93.184.216.${at}`),
      '127.0.0.1',
    ],
  };
  let nowMs = 0;
  const open = async (answer = (name: string) => answers[name] ?? []) => {
    const server = await openNameServer(answer);
    onTestFinished(() => server.close());
    const clock = { now: () => nowMs, monotonicMs: () => nowMs };
    const names = openNameLookup({ clock, servers: [server.address], hostsFile: '/nonexistent' });
    const egress = new Egress(guard, names);
    const find = async (name: string) => egress.addresses(egress.target(`http://${name}/`));
    return { find, server };
  };

  it('gives the addresses of both families', async () => {
    const { find } = await open();
    expect(await find('public.test')).toEqual(answers['public.test']);
    expect((await find('PUBLIC.test.')).length).toBe(2);
  });

  it.each(Object.keys(answers).filter((name) => !/^(public|many)\./.test(name)))(
    'refuses %s, for one of its addresses is denied',
    async (name) => {
      const { find } = await open();
      await expect(find(name)).rejects.toMatchObject({ failure: 'blocked_ip' });
    },
  );

  it('checks any number of addresses and tries at most eight', async () => {
    const { find } = await open();
    expect((await find('many.test')).length).toBe(8);
  });

  it('asks once for a burst, and again after 3 s', async () => {
    const { find, server } = await open();
    await Promise.all(Array.from({ length: 50 }, () => find('public.test')));
    nowMs += 2_999;
    await find('public.test');
    expect(server.questions.length).toBe(2);
    nowMs += 1;
    await find('public.test');
    expect(server.questions.length).toBe(4);
  });

  it('reads the hosts file first, and again when it has changed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'quietzone-hosts-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const hostsFile = join(folder, 'hosts');
    await writeFile(
      hostsFile,
      '# a comment\n10.9.8.7 inner.test Other.test # another\nnonsense x\n',
    );
    const clock = { now: () => nowMs, monotonicMs: () => nowMs };
    const names = openNameLookup({ clock, servers: ['127.0.0.1:9'], hostsFile });
    expect(await names.resolve('other.TEST')).toEqual(['10.9.8.7']);
    await writeFile(hostsFile, '10.9.8.8 inner.test\n::7 inner.test\n');
    await utimes(hostsFile, 1, 1);
    nowMs += 3_000;
    expect(await names.resolve('inner.test')).toEqual(['10.9.8.8', '::7']);
  });
});
