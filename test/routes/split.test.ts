/** Splits deal visitors out by weight, keep each where it is, and move no more than a change of weights asks for. */
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RouteVariant } from '../../src/model/routing/routing.ts';
import { programWords } from '../../src/routes/program-layout.ts';
import { ProgramReader, type RouteFacts } from '../../src/routes/program-reader.ts';
import { Agents } from '../../src/scans/visitor/agents.ts';
import { splitPoint } from '../../src/scans/visitor/visitor-id.ts';
import { programOf, variant } from '../links/routed.ts';
import { anybody } from '../links/table.ts';

const visitors = 100_000;
const agents = new Agents();
const known = ['Safari', 'Chrome', 'Firefox'].map((text) => agents.get(text));

/** Each of another address, or of another agent behind the same one. */
const visitorOf = (no: number): RouteFacts => ({
  ...anybody,
  splitPoint(words, seed) {
    const address = Buffer.alloc(16).fill(255, 10, 12);
    address.writeUInt32BE(0x0900_0000 + Math.floor(no / 3), 12);
    return splitPoint(words, seed, address, known[no % 3]!.hashes);
  },
});

/** The route of each visitor. */
function deal(split: readonly RouteVariant[], count = visitors, seed?: string): Uint8Array {
  const program = programOf(seed === undefined ? { split } : { split, seed });
  const reader = new ProgramReader();
  reader.open(programWords(program!), 0);
  return Uint8Array.from({ length: count }, (_, no) => {
    reader.follow(visitorOf(no));
    return reader.route;
  });
}

const weighed = (weights: readonly number[]): RouteVariant[] =>
  weights.map((weight, no) => variant(`v${no}`, weight));
const sumOf = (numbers: readonly number[]): number =>
  numbers.reduce((total, one) => total + one, 0);

describe('a split', () => {
  test.each([[[1, 1]], [[1_000, 1]], [[70, 20, 10]], [[1, 2, 3, 4, 5, 6, 7, 8]]])(
    'of %j has shares within one in a hundred of all visitors, the same ones each time',
    (weights) => {
      const routes = deal(weighed(weights));
      for (const [no, weight] of weights.entries()) {
        const share = routes.filter((route) => route === no + 1).length / visitors;
        expect(Math.abs(share - weight / sumOf(weights))).toBeLessThan(0.01);
      }
      expect(Buffer.compare(deal(weighed(weights)), routes)).toBe(0);
    },
  );

  test('moves visitors only over the borders that move, whatever becomes of the sum', () => {
    const weights = fc.array(fc.integer({ min: 1, max: 1_000 }), { minLength: 8, maxLength: 8 });
    const borders = (of: readonly number[]): number[] =>
      of.map((_, no) => sumOf(of.slice(0, no + 1)) / sumOf(of));
    const count = 4_000;
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 8 }), weights, weights, (length, before, after) => {
        const [one, other] = [before.slice(0, length), after.slice(0, length)];
        const [was, is] = [deal(weighed(one), count), deal(weighed(other), count)];
        const [from, to] = [borders(one), borders(other)];
        const bound = sumOf(from.map((border, no) => Math.abs(border - to[no]!)));
        const moved = was.filter((route, no) => route !== is[no]).length / count;
        expect(moved).toBeLessThanOrEqual(bound + 0.04);
      }),
      { numRuns: 60 },
    );
  });

  test('of another code is another one: nobody is first everywhere', () => {
    const [one, other] = ['AAECAwQFBgcICQoLDA0ODw', 'EBECAwQFBgcICQoLDA0ODw'].map((seed) =>
      deal(weighed([1, 1]), visitors, seed),
    );
    const alike = one!.filter((route, no) => route === other![no]).length / visitors;
    expect(Math.abs(alike - 0.5)).toBeLessThan(0.01);
  });

  test('goes by the /64 of an IPv6 address and by the whole of an IPv4 one', () => {
    const program = programWords(programOf({ split: weighed([1, 1]) })!);
    const pointOf = (hex: string): number =>
      splitPoint(program, 4, Buffer.from(hex, 'hex'), known[0]!.hashes);
    const ipv6 = '20010db8000000010000000000000001';
    expect(pointOf(ipv6)).toBe(pointOf(`${ipv6.slice(0, 16)}ffffffffffffffff`));
    expect(pointOf(ipv6)).not.toBe(pointOf(ipv6.replace('00000001', '00000002')));
    const ipv4 = '00000000000000000000ffff09010203';
    expect(pointOf(ipv4)).not.toBe(pointOf(`${ipv4.slice(0, 30)}04`));
  });
});
