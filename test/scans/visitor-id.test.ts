import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAddress } from '../support/address.ts';
import { Agents } from '../../src/scans/visitor/agents.ts';
import { SipHash } from '../../src/scans/visitor/sip-hash.ts';
import { VisitorIds } from '../../src/scans/visitor/visitor-id.ts';

const key = Uint8Array.from({ length: 16 }, (_, index) => index);
const otherKey = Uint8Array.from({ length: 16 }, (_, index) => index ^ (index === 15 ? 1 : 0));

/**
 * The 64 vectors of the authors' reference implementation (vectors_sip64): key 00…0f, message the
 * first n of 00 01 02 …, the result's bytes in little-endian order.
 */
const vectors = `
310e0edd47db6f72 fd67dc93c539f874 5a4fa9d909806c0d 2d7efbd796666785 b7877127e09427cf 8da699cd64557618
cee3fe586e46c9cb 37d1018bf50002ab 6224939a79f5f593 b0e4a90bdf82009e f3b9dd94c5bb5d7a a7ad6b22462fb3f4
fbe50e86bc8f1e75 903d84c02756ea14 eef27a8e90ca23f7 e545be4961ca29a1 db9bc2577fcc2a3f 9447be2cf5e99a69
9cd38d96f0b3c14b bd6179a71dc96dbb 98eea21af25cd6be c7673b2eb0cbf2d0 883ea3e395675393 c8ce5ccd8c030ca8
94af49f6c650adb8 eab8858ade92e1bc f315bb5bb835d817 adcf6b0763612e2f a5c91da7acaa4dde 716595876650a2a6
28ef495c53a387ad 42c341d8fa92d832 ce7cf2722f512771 e37859f94623f3a7 381205bb1ab0e012 ae97a10fd434e015
b4a31508beff4d31 81396229f0907902 4d0cf49ee5d4dcca 5c73336a76d8bf9a d0a704536ba93e0e 925958fcd6420cad
a915c29bc8067318 952b79f3bc0aa6d4 f21df2e41d4535f9 87577519048f53a9 10a56cf5dfcd9adb eb75095ccd986cd0
51a9cb9ecba312e6 96afadfc2ce666c7 72fe52975a4364ee 5a1645b276d592a1 b274cb8ebf87870a 6f9bb4203de7b381
eaecb2a30b22a87f 9924a43cc1315724 bd838d3aafbf8db7 0b1a2a3265d51aea 135079a3231ce660 932b2846e4d70666
e1915f5cb1eca46c f325965ca16d629f 575ff28e60381be5 724506eb4c328a95`
  .trim()
  .split(/\s+/);

function result(hash: SipHash): string {
  const bytes = Buffer.alloc(8);
  bytes.writeUInt32LE(hash.lo, 0);
  bytes.writeUInt32LE(hash.hi, 4);
  return bytes.toString('hex');
}

describe('SipHash', () => {
  const hash = new SipHash(key);
  const message = Uint8Array.from({ length: 80 }, (_, index) => index - 7);

  it('is 2-4 for 0 to 63 bytes', () => {
    const results = vectors.map((_, bytes) => {
      hash.hash(message, 7, 7 + bytes);
      return result(hash);
    });
    expect(results).toEqual(vectors);
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
