/** Texts of any code points for fast-check. Its own unit `binary` begins with a table of them all, 0.7 s of a core. */
import fc from 'fast-check';

/** Any but half a surrogate pair. */
export const anyCodePoint: fc.Arbitrary<string> = fc
  .integer({ min: 0, max: 0x10_f7_ff })
  .map((point) => String.fromCodePoint(point < 0xd800 ? point : point + 0x800));

export const anyText = (bounds: fc.StringConstraints = {}): fc.Arbitrary<string> =>
  fc.string({ ...bounds, unit: anyCodePoint });
