/**
 * The arithmetic of UltraLogLog registers (Ertl, "UltraLogLog: A Practical and More Space-Efficient Alternative to
 * HyperLogLog for Approximate Distinct Counting", PVLDB 17, 2024).
 *
 * A visitor's hash picks one register and a level k (1…33) with probability 2^-k. A register is a byte:
 *
 *     7   6   5   4   3   2 | 1        | 0
 *     highest level u       | u-1 seen | u-2 seen        0 = nothing seen
 *
 * The estimate is maximum likelihood under the Poisson model, without bias tables; standard error 0.76 / sqrt(registers).
 */
import { dataDamaged } from '../failure.ts';

/** A level is the leading zeros of 32 bits + 1; 33 is as likely as 32. */
const levelMax = 33;

export const relativeError = (registers: number): number => 0.76 / Math.sqrt(registers);

/** The union with an impossible byte: it stays, and `estimate` finds it. */
const poisoned = 0xff;

export const levelOf = (bits: number): number => Math.clz32(bits) + 1;

/** Whether a byte can be a register: u in range, and no level below 1 seen. */
export function isRegister(byte: number): boolean {
  const highest = byte >>> 2;
  if (highest > levelMax) return false;
  if (highest === 0) return byte === 0;
  if (highest === 1) return (byte & 3) === 0;
  return highest > 2 || (byte & 1) === 0;
}

/** 1 for every byte that cannot be a register: checks a chunk without branches. */
export const impossible: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) =>
  isRegister(byte) ? 0 : 1,
);

function unite(a: number, b: number): number {
  if (!isRegister(a) || !isRegister(b)) return poisoned;
  const [above, below] = a >= b ? [a, b] : [b, a];
  if (below === 0) return above;
  const distance = (above >>> 2) - (below >>> 2);
  if (distance === 0) return above | below;
  if (distance === 1) return above | 2 | ((below >>> 1) & 1);
  return distance === 2 ? above | 1 : above;
}

/** The union of two registers, at [a << 8 | b]. A level k alone is the register k << 2. */
export const union: Uint8Array = Uint8Array.from({ length: 65_536 }, (_, pair) =>
  unite(pair >>> 8, pair & 0xff),
);

/** Chance of each level; [33] equals [32]. */
const chance: Float64Array = Float64Array.from({ length: levelMax + 1 }, (_, level) =>
  level === 0 ? 1 : 2 ** -Math.min(level, levelMax - 1),
);

/**
 * The log-likelihood of x visitors per register is −α·x + Σ β_k·log(1 − exp(−x·p_k)): α is the sum of the chances of
 * unseen levels, β_k the number of registers that have seen level k.
 * @param counts registers by their byte @throws Failure data_damaged for an impossible register
 */
export function estimateDistinct(counts: Uint32Array, registers: number): number {
  const seen = new Float64Array(levelMax + 1);
  let unseen = 0;
  for (let byte = 0; byte < 256; byte++) {
    const count = counts[byte]!;
    if (count === 0) continue;
    if (!isRegister(byte)) {
      throw dataDamaged(`Cannot estimate visitors: register ${byte}, expected one of a sketch`);
    }
    const highest = byte >>> 2;
    if (highest < levelMax) unseen += count * 2 ** -highest;
    if (highest === 0) continue;
    seen[highest]! += count;
    if (highest > 1) {
      if ((byte & 2) === 0) unseen += count * chance[highest - 1]!;
      else seen[highest - 1]! += count;
    }
    if (highest > 2) {
      if ((byte & 1) === 0) unseen += count * chance[highest - 2]!;
      else seen[highest - 2]! += count;
    }
  }
  return registers * mostLikelyRate(unseen, seen);
}

/** The root of Σ β_k·p_k / (exp(x·p_k) − 1) = α: Newton on log x, with a bisection when a step leaves its bracket. */
function mostLikelyRate(unseen: number, seen: Float64Array): number {
  if (seen.every((count) => count === 0)) return 0;
  let low = Math.log(1e-9);
  let high = 32 * Math.LN2;
  let logRate = Math.min(0, high);
  for (let step = 0; step < 64 && high - low > 1e-9; step++) {
    const rate = Math.exp(logRate);
    let excess = -unseen;
    let slope = 0;
    for (let level = 1; level <= levelMax; level++) {
      const count = seen[level]!;
      if (count === 0) continue;
      const part = rate * chance[level]!;
      const term = (count * chance[level]!) / Math.expm1(part);
      excess += term;
      slope -= (term * part) / -Math.expm1(-part);
    }
    if (excess > 0) low = logRate;
    else high = logRate;
    const next = logRate - excess / slope;
    const inside = next > low && next < high;
    if (inside && Math.abs(next - logRate) < 1e-9) return Math.exp(next);
    logRate = inside ? next : (low + high) / 2;
  }
  return Math.exp(logRate);
}
