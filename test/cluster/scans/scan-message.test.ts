import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  encodeScanMessage,
  readScanMessage,
  type ScanMessage,
} from '../../../src/cluster/scans/scan-messages.ts';
import { journalsMax } from '../../../src/scans/journal/positions.ts';
import { batchBytesMax } from '../../../src/scans/record.ts';
import { packPlain } from '../../../src/store/codec.ts';

const position = fc.oneof(
  fc.nat(),
  fc.maxSafeNat(),
  fc.constantFrom(0, 2 ** 32, 2 ** 32 - 1, Number.MAX_SAFE_INTEGER),
);
const message: fc.Arbitrary<ScanMessage> = fc
  .record({
    journal: fc.nat(journalsMax - 1),
    run: position,
    positions: fc.tuple(position, position),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 300 }),
  })
  .map(({ positions: [one, other], ...rest }) => ({
    ...rest,
    after: Math.min(one, other),
    from: Math.max(one, other),
  }))
  .filter(({ from, bytes }) => Number.isSafeInteger(from + bytes.length));
const fields = ({ journal, run, after, from, bytes }: ScanMessage): unknown[] => [
  1,
  journal,
  run,
  after,
  from,
  bytes,
];

it('comes back as it was', () => {
  const property = fc.property(message, (written) => {
    const read = readScanMessage(encodeScanMessage(written))!;
    expect({ ...read, bytes: Uint8Array.from(read.bytes) }).toEqual(written);
  });
  fc.assert(property);
});

it('keeps nothing of the bytes it was read from', () => {
  const body = encodeScanMessage({ journal: 1, run: 1, after: 0, from: 0, bytes: Buffer.alloc(9) });
  const read = readScanMessage(body)!;
  body.fill(255);
  expect(Buffer.from(read.bytes)).toEqual(Buffer.alloc(9));
});

it('leaves space for the largest batch in a message of the brokers', () => {
  const bytes = new Uint8Array(batchBytesMax);
  const max = Number.MAX_SAFE_INTEGER;
  const body = encodeScanMessage({ journal: 4_095, run: max, after: max, from: max, bytes });
  expect(body.length).toBeLessThan(batchBytesMax + 100);
});

it('is undefined where one field is another, missing, or of another version', () => {
  const wrong: unknown[] = [-1, 1.5, Number.NaN, 2 ** 53, '1', null, undefined, true, [], {}, 1n];
  const wrongAt = [
    [...wrong, 0, 2],
    [...wrong, journalsMax],
    wrong,
    [...wrong, 11],
    [...wrong, 9, Number.MAX_SAFE_INTEGER],
    [...wrong.filter((value) => typeof value !== 'object' || value === null), Buffer.alloc(0)],
  ];
  const whole = fields({ journal: 1, run: 2, after: 10, from: 10, bytes: Buffer.alloc(3) });
  expect(readScanMessage(packPlain(whole))).toBeDefined();
  for (const [at, values] of wrongAt.entries()) {
    expect(readScanMessage(packPlain(whole.slice(0, at)))).toBeUndefined();
    for (const value of values) {
      if (at > 0 && value === 1n) continue;
      const changed = whole.with(at, value);
      expect(readScanMessage(packPlain(changed)), `${at}: ${String(value)}`).toBeUndefined();
    }
  }
});

it('is undefined for unknown bytes, and for its own cut short', () => {
  const property = fc.property(fc.uint8Array({ maxLength: 60 }), message, (unknown, written) => {
    const found = readScanMessage(unknown);
    if (found !== undefined) expect(found.from).toBeGreaterThanOrEqual(found.after);
    const body = encodeScanMessage(written);
    const cut = unknown.length % body.length;
    expect(readScanMessage(body.subarray(0, cut))).toBeUndefined();
  });
  fc.assert(property, { numRuns: 300 });
});
