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
  const whole: unknown[] = [1, 1, 2, 10, 10, Buffer.alloc(3)];
  expect(readScanMessage(packPlain(whole))).toBeDefined();
  const wrong = [2, journalsMax, -1, 11, 9, Buffer.alloc(0)];
  for (const [at, value] of wrong.entries()) {
    expect(readScanMessage(packPlain(whole.slice(0, at)))).toBeUndefined();
    for (const other of [value, 1.5, '1', null]) {
      expect(
        readScanMessage(packPlain(whole.with(at, other))),
        `${at}: ${String(other)}`,
      ).toBeUndefined();
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
