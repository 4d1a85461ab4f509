/** What a scan says of its visitor: user agent, hash of address and agent, place. */
import { readFileSync } from 'node:fs';
import { describe, expect, it, afterAll } from 'vitest';
import fc from 'fast-check';
import {
  botReasonNames,
  BotReason,
  browserNames,
  deviceNames,
  osNames,
  Platform,
  countryNumber,
} from '../../../src/model/scan.ts';
import { textBytesMax } from '../../../src/engine/journal/record.ts';
import { Agents, agentsMax } from '../../../src/engine/visitor/agents.ts';
import { botReasonOf } from '../../../src/engine/visitor/bot.ts';
import { classifyUserAgent } from '../../../src/engine/visitor/device.ts';
import { leastMilliseconds } from '../../support/least-milliseconds.ts';
import { parseAddress } from '../../support/address.ts';
import { SipHash } from '../../../src/engine/visitor/sip-hash.ts';
import { VisitorIds } from '../../../src/engine/visitor/visitor-id.ts';
import { Geo } from '../../../src/engine/visitor/geo/geo.ts';
import { nowhere } from '../../../src/engine/visitor/geo/place.ts';
import { type ScanVisitor, Visitor } from '../../../src/engine/visitor/visitor.ts';
import { openBundledGeo } from './geo-data.ts';

type Row = readonly [what: string, userAgent: string, expected: string];
const rows: readonly Row[] = JSON.parse(
  readFileSync(new URL('../../fixtures/user-agents.json', import.meta.url), 'utf8'),
);

const platformNames = Object.keys(Platform);

/** A bot's device does not matter: its reason is all that is counted. */
function describeClass(userAgent: string): string {
  const bot = botReasonOf(userAgent);
  if (bot !== BotReason.none) return botReasonNames[bot]!;
  const { device, platform, os, browser } = classifyUserAgent(userAgent);
  return `${deviceNames[device]} ${platformNames[platform]} ${osNames[os]} ${browserNames[browser]}`;
}

it.each(rows)('classifyUserAgent reads %s', (_what, userAgent, expected) => {
  expect(describeClass(userAgent)).toBe(expected);
});

const hostile = [
  ...'a| |(|/|0.|1|1_|Version/|Version/1.1_|Mozilla/5.0 (|Mozilla/5.0 (Macintosh; Mobile'.split(
    '|',
  ),
  ...'Android |nexus |yahoo |bot|http|Opera |Chrome/1|windows nt|Nokia |x;|\u0000|\ud800|\\'.split(
    '|',
  ),
];

it.each(hostile)('hostile user agents take bounded time: %j repeated', (part) => {
  for (const tail of ['', '!', ' Mobile Safari', '11111111111111111111111111111']) {
    const userAgent = part.repeat(4_096).slice(0, textBytesMax - tail.length) + tail;
    classifyUserAgent(userAgent);
    const spentMs = leastMilliseconds(() => {
      botReasonOf(userAgent);
      classifyUserAgent(userAgent);
    });
    // 0.1 ms is usual; an exponential pattern would take seconds.
    expect(spentMs).toBeLessThan(50);
  }
});

describe('Agents', () => {
  it('are read once, by their first 512 characters', () => {
    const agents = new Agents();
    const start = 'a'.repeat(textBytesMax);
    const agent = agents.get(`${start}b`);
    expect(agents.get(`${start} iPhone`)).toBe(agent);
    expect(agents.get('b')).not.toBe(agent);
    expect(agent.visitorClass).toBe(agent.visitorClass);
    expect(agent.visitorClass).toEqual(classifyUserAgent(start));
  });

  it('keep a bounded number', () => {
    const agents = new Agents();
    for (let no = 0; no < agentsMax; no++) agents.get(`agent ${no}`);
    expect(agents.size).toBe(agentsMax);
    agents.get('one more');
    expect(agents.size).toBe(1);
  });
});

const key = Uint8Array.from({ length: 16 }, (_, index) => index);
const otherKey = Uint8Array.from({ length: 16 }, (_, index) => index ^ (index === 15 ? 1 : 0));

/**
 * The first 18 vectors of the authors' reference implementation (vectors_sip64): key 00…0f, message the
 * first n of 00 01 02 …, the result's bytes in little-endian order.
 */
const vectors = `
310e0edd47db6f72 fd67dc93c539f874 5a4fa9d909806c0d 2d7efbd796666785 b7877127e09427cf 8da699cd64557618
cee3fe586e46c9cb 37d1018bf50002ab 6224939a79f5f593 b0e4a90bdf82009e f3b9dd94c5bb5d7a a7ad6b22462fb3f4`
  .trim()
  .split(/\s+/);
/** Those of long agents. */
const longVectors = [
  [63, '724506eb4c328a95'],
  [31, '42c341d8fa92d832'],
  [32, 'ce7cf2722f512771'],
] as const;

function result(hash: SipHash): string {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(hash.lo, 0);
  bytes.writeUInt32LE(hash.hi, 4);
  return bytes.toString('hex');
}

describe('SipHash', () => {
  const hash = new SipHash(key);
  const message = Uint8Array.from({ length: 80 }, (_, index) => index - 7);

  it('is 2-4 for 0 to 17 bytes and for long texts, also for a short one after a long one', () => {
    const hashOf = (bytes: number): string => {
      hash.hash(message, 7, 7 + bytes);
      return result(hash);
    };
    for (const [bytes, expected] of longVectors) expect(hashOf(bytes)).toBe(expected);
    expect(vectors.map((_, bytes) => hashOf(bytes))).toEqual(vectors);
  });

  it('is the same for 16 bytes given as words', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
        hash.hash(bytes, 0, 16);
        const expected = result(hash);
        const view = new DataView(bytes.buffer, bytes.byteOffset);
        const words = [0, 4, 8, 12].map((at) => view.getInt32(at, true));
        hash.hashWords(words[0]!, words[1]!, words[2]!, words[3]!);
        expect(result(hash)).toBe(expected);
      }),
    );
  });
});

describe('VisitorIds', () => {
  const ids = new VisitorIds(key);
  const idOf = (address: string, agent: string, from = ids): string => {
    const [hi, lo] = new Agents(from.agentHash).get(agent).hashes;
    const bytes = Buffer.concat([Buffer.from('xyz'), parseAddress(address)]);
    from.hashVisitor(bytes, 3, hi, lo);
    return `${from.hi.toString(16).padStart(8, '0')}${from.lo.toString(16).padStart(8, '0')}`;
  };

  it('is stable over restarts: uniques of other days depend on it', () => {
    expect(idOf('203.0.113.9', 'Mozilla/5.0')).toBe(
      idOf('203.0.113.9', 'Mozilla/5.0', new VisitorIds(key)),
    );
    expect(idOf('203.0.113.9', 'Mozilla/5.0')).toMatchInlineSnapshot(`"65b617710ff97b73"`);
    expect(idOf('2001:db8:1:2:3:4:5:6', 'Mozilla/5.0')).toMatchInlineSnapshot(`"b556c8bfefc6a9af"`);
  });

  it('differs by IPv4 address, /64 of IPv6, user agent and key', () => {
    const addresses = ['203.0.113.9', '203.0.113.8', '203.0.112.9', '203.1.113.9', '204.0.113.9'];
    const ids = [
      ...[...addresses, '2001:db8:1:2::1', '2001:db8:1:3::1'].map((address) => idOf(address, 'x')),
      idOf('203.0.113.9', 'y'),
      idOf('203.0.113.9', ''),
      idOf('203.0.113.9', 'x', new VisitorIds(otherKey)),
    ];
    expect(new Set(ids).size).toBe(ids.length);
    expect(idOf('2001:db8:1:2:ffff:ffff:ffff:ffff', 'x')).toBe(idOf('2001:db8:1:2::1', 'x'));
  });
});

const { data, close } = openBundledGeo();
afterAll(close);
const geo = new Geo(data);
const place = (address: string, from = geo) => from.lookup(parseAddress(address), 0);

describe('bundled databases', () => {
  it.each([
    ['8.8.8.8', 'US', /Mountain View/],
    ['133.11.0.1', 'JP', /Chiyoda/],
    ['2600:1700::1', 'US', /./],
    ['2003::1', 'DE', /Bonn/],
  ])('know %s as %s and %s', (address, country, city) => {
    expect(place(address).country).toBe(country);
    expect(place(address).city).toMatch(city);
  });

  it.each([
    ...'10.0.0.1 100.64.0.1 127.0.0.1 192.168.178.20 224.0.0.1'.split(' '),
    ...'::1 fc00::1 fe80::1 ff02::1'.split(' '),
  ])('know nothing of %s', (address) => expect(place(address)).toBe(nowhere));
});

it('no files mean ZZ', () => {
  expect(place('8.8.8.8', new Geo({}))).toBe(nowhere);
  expect(nowhere).toMatchObject({ country: 'ZZ', city: '', namedCity: '' });
});

it('a visitor has class, place and hash of a scan', () => {
  const iphone =
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1';
  const numbers = { visitorHigh: 0, visitorLow: 0, country: 0, device: 0, platform: 0 };
  const visitor: ScanVisitor = { ...numbers, city: '', os: 0, browser: 0, bot: 0 };
  const address = parseAddress('8.8.8.8');
  new Visitor({ key: Buffer.alloc(16, 7), geo: data }).read(address, iphone, visitor);
  expect(visitor).toEqual({
    visitorHigh: expect.any(Number),
    visitorLow: expect.any(Number),
    device: 1,
    platform: 1,
    os: 1,
    browser: 2,
    bot: 0,
    country: countryNumber('US'),
    city: 'Mountain View, US',
  });
});
