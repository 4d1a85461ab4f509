/** The openCheck of designs: good ones pass, bad ones are refused with advice, before and after drawing. */
import { describe, expect, test } from 'vitest';
import { ScannabilityCheck } from '../../src/images/design/scannability-check.ts';
import { Logos } from '../../src/images/logo/logos.ts';
import { styleOf } from '../../src/images/design/style.ts';
import { isScannable } from '../../src/images/design/scannable.ts';
import { localTasks, type ImageTasks } from '../../src/images/tasks.ts';
import { Failure } from '../../src/model/failure.ts';
import { temporaryManagement } from '../store/temporary-management.ts';
import { TestClock } from '../support/fakes/test-clock.ts';
import { anyLogo, cleanedRoundLogo, designs, roundLogoUrl } from './sample-designs.ts';

const code = { dynamic: true, shortCode: 'K7RM2X9D', target: 'https://example.com/' };
const shortUrlBase = 'https://qr.example.com';
const content = 'HTTPS://QR.EXAMPLE.COM/K7RM2X9D';

function openCheck(tasks: ImageTasks = localTasks) {
  const { store } = temporaryManagement();
  const logos = new Logos({ store, clock: new TestClock(), tasks });
  return { logos, check: new ScannabilityCheck({ tasks, logos, shortUrlBase }) };
}

async function failureOf(promise: Promise<unknown>): Promise<Failure> {
  const failure = await promise.catch((error: unknown) => error);
  if (failure instanceof Failure) return failure;
  throw new Error('Cannot test a refusal: it was taken');
}

describe('isScannable', () => {
  // formats.whole.test.ts reads every design with two decoders.
  test.each(['transparent background', 'dots', 'linear gradient', 'logo and everything'])(
    '%s is read at a glance',
    async (name) => {
      const design = designs[name]!;
      const logo = design.logo === undefined ? undefined : await cleanedRoundLogo();
      const text = 'Grüße 👋 '.repeat(9);
      expect(await isScannable({ content: text, style: styleOf(design), logo })).toBe(true);
    },
  );

  test('the plain style is read for every kind of content', async () => {
    const contents = [
      content,
      '7',
      'WIFI:T:WPA;S:a\\;b;P:c\\:d\\\\e;;',
      'x'.repeat(2_000),
      '1'.repeat(5_000),
    ];
    for (const text of contents) {
      expect(await isScannable({ content: text, style: styleOf({}) })).toBe(true);
    }
  });

  test('colors that a camera cannot tell apart are not read', async () => {
    const faint = styleOf({ foreground: '#fbfbfb' });
    expect(await isScannable({ content, style: faint })).toBe(false);
    const inverted = styleOf({ foreground: '#fff', background: '#000' });
    expect(await isScannable({ content, style: inverted })).toBe(false);
  });

  test('a large logo on little error correction is not read', async () => {
    const logo = await cleanedRoundLogo();
    const style = styleOf({ logo: anyLogo, logoScale: 0.25, errorCorrection: 'L' });
    expect(await isScannable({ content, style, logo })).toBe(false);
  });
});

describe('ScannabilityCheck', () => {
  test('a good design comes back as written, its logo by name', async () => {
    const { check, logos } = openCheck();
    const given = { foreground: '#1D3557', dotStyle: 'dots', logo: roundLogoUrl };
    const design = await check.accept(1, code, given);
    const [logo] = logos.list(1);
    expect(design).toEqual({ ...given, logo: logo?.id });
    expect(await check.accept(1, code, design)).toEqual(design);
  });

  test('another workspace’s logo is refused like one that does not exist', async () => {
    const { check } = openCheck();
    const { logo } = await check.accept(1, code, { logo: roundLogoUrl });
    const other = await failureOf(check.accept(2, code, { logo }));
    const missing = await failureOf(check.accept(2, code, { logo: anyLogo }));
    expect(other).toMatchObject({ code: 'validation_failed', faults: missing.faults });
    expect(missing.faults).toMatchObject([{ path: 'design.logo', code: 'not_found' }]);
  });

  test('colors are checked before anything is drawn', async () => {
    const isScannable = () => Promise.reject(new Error('drawn'));
    const { check } = openCheck({ ...localTasks, isScannable });
    const failure = await failureOf(
      check.accept(1, code, { foreground: '#bbb', eyeColor: '#ccc' }),
    );
    expect(failure.code).toBe('unscannable');
    expect(failure.faults.map(({ path }) => path)).toEqual([
      'design.foreground',
      'design.eyeColor',
    ]);
    expect(failure.faults[0]?.message).toMatch(/darken/);
    await expect(
      check.accept(1, code, { foreground: '#000000', margin: 4 }),
    ).resolves.toBeDefined();
    await expect(check.accept(1, code, { foreground: '#111' })).rejects.toThrow('drawn');
  });

  test('an unreadable design is refused with advice, and its logo is not stored', async () => {
    const { check, logos } = openCheck();
    const given = { logo: roundLogoUrl, logoScale: 0.25, errorCorrection: 'L', margin: 2 };
    const failure = await failureOf(check.accept(1, code, given));
    expect(failure.code).toBe('unscannable');
    expect(failure.faults).toMatchObject([{ path: 'design', code: 'unreadable' }]);
    expect(failure.message).toMatch(/errorCorrection H.*logo smaller.*margin of 4/);
    expect(logos.list(1)).toEqual([]);
  });

  test('content that fits only at lower error correction is a fault of the design', async () => {
    const { check } = openCheck();
    const long = { dynamic: false, target: 'x'.repeat(1_900) };
    await expect(check.accept(1, long, { foreground: '#111' })).resolves.toBeDefined();
    const failure = await failureOf(check.accept(1, long, { errorCorrection: 'H' }));
    expect(failure.faults).toMatchObject([{ path: 'design.errorCorrection', code: 'too_long' }]);
  });

  test('the schema is checked too', async () => {
    const { check } = openCheck();
    const failure = await failureOf(check.accept(1, code, { gradient: { from: '#000' } }));
    expect(failure).toMatchObject({ code: 'validation_failed' });
    expect(failure.faults.map(({ path }) => path)).toEqual(['design.gradient.to']);
  });

  test('a preview is the image that would be drawn, and stores nothing', async () => {
    const { check, logos } = openCheck();
    const image = { format: 'svg', size: 200 } as const;
    const bytes = await check.preview(1, code, { dotStyle: 'rounded', logo: roundLogoUrl }, image);
    expect(Buffer.from(bytes).toString()).toMatch(/^<svg .*<image /s);
    expect(logos.list(1)).toEqual([]);
  });
});
