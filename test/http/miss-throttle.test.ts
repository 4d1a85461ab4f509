/** The bound of unknown codes: exact per bucket and minute. */
import { describe, expect, it } from 'vitest';
import { MissThrottle, unknownPerMinuteMax } from '../../src/http/miss-throttle.ts';

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
