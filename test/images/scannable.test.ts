/** The judge of designs: good ones pass, bad ones are refused with advice, before and after drawing. */
import { describe, expect, test } from 'vitest';
import { ScannabilityCheck } from '../../src/images/design/scannability-check.ts';
import { cleanLogo } from '../../src/images/logo/logo.ts';
import { LogoStore } from '../../src/images/logo/logo-store.ts';
import { Logos } from '../../src/images/logo/logos.ts';
import { styleOf } from '../../src/images/design/style.ts';
import { isScannable } from '../../src/images/design/scannable.ts';
import { directWork, type ImageWork } from '../../src/images/work.ts';
import { Failure } from '../../src/model/failure.ts';
import { HandClock, temporaryFolder, temporaryManagement } from '../store/temporary-management.ts';
import { anyLogo, designs, roundLogo } from './looks.ts';

const code = { dynamic: true, shortCode: 'K7RM2X9D', target: 'https://example.com/' };
const shortUrlBase = 'https://qr.example.com';
const content = 'HTTPS://QR.EXAMPLE.COM/K7RM2X9D';
const logoData = `data:image/svg+xml;base64,${Buffer.from(roundLogo).toString('base64')}`;

function judge(work: ImageWork = directWork) {
  const { store } = temporaryManagement();
  const clean: ImageWork['cleanLogo'] = (...file) => directWork.cleanLogo(...file);
  const shelf = new LogoStore(temporaryFolder());
  const logos = new Logos({ store, clock: new HandClock(), shelf, clean });
  return { logos, judge: new ScannabilityCheck({ work, logos, shortUrlBase }) };
}

async function failureOf(promise: Promise<unknown>): Promise<Failure> {
  const failure = await promise.catch((error: unknown) => error);
  if (failure instanceof Failure) return failure;
  throw new Error('Cannot test a refusal: it was taken');
}

describe('isScannable', () => {
  test.each(Object.keys(designs))('%s is read at a glance', async (name) => {
    const design = designs[name] ?? {};
    const logo =
      design.logo === undefined
        ? undefined
        : await cleanLogo(Buffer.from(roundLogo), 'image/svg+xml');
    for (const text of [
      content,
      'https://example.com/a/longer/address?with=query',
      'Grüße 👋 '.repeat(9),
    ]) {
      expect(await isScannable({ content: text, look: styleOf(design), logo })).toBe(true);
    }
  });

  test('the plain look is read for every kind of content', async () => {
    const contents = [
      content,
      '7',
      'WIFI:T:WPA;S:a\\;b;P:c\\:d\\\\e;;',
      'x'.repeat(2_000),
      '1'.repeat(5_000),
    ];
    for (const text of contents) {
      expect(await isScannable({ content: text, look: styleOf({}) })).toBe(true);
    }
  });

  test('what a camera cannot tell apart is not read', async () => {
    const faint = styleOf({ foreground: '#fbfbfb' });
    expect(await isScannable({ content, look: faint })).toBe(false);
    const inverted = styleOf({ foreground: '#fff', background: '#000' });
    expect(await isScannable({ content, look: inverted })).toBe(false);
  });

  test('a large logo on little error correction is not read', async () => {
    const logo = await cleanLogo(Buffer.from(roundLogo), 'image/svg+xml');
    const look = styleOf({ logo: anyLogo, logoScale: 0.25, errorCorrection: 'L' });
    expect(await isScannable({ content, look, logo })).toBe(false);
  });
});

describe('ScannabilityCheck', () => {
  test('a good design comes back as it was written, a logo by its name', async () => {
    const { judge: desk, logos } = judge();
    const given = { foreground: '#1D3557', dotStyle: 'dots', logo: logoData };
    const design = await desk.accept(1, code, given);
    const [logo] = logos.list(1);
    expect(design).toEqual({ ...given, logo: logo?.id });
    expect(await desk.accept(1, code, design)).toEqual(design);
  });

  test('another workspace’s logo is as one that does not exist', async () => {
    const { judge: desk } = judge();
    const { logo } = await desk.accept(1, code, { logo: logoData });
    const foreign = await failureOf(desk.accept(2, code, { logo }));
    const missing = await failureOf(desk.accept(2, code, { logo: anyLogo }));
    expect(foreign).toMatchObject({ code: 'validation_failed', faults: missing.faults });
    expect(missing.faults).toMatchObject([{ path: 'design.logo', code: 'not_found' }]);
  });

  test('colours are judged before anything is drawn', async () => {
    const drawing = { ...directWork, isScannable: () => Promise.reject(new Error('drawn')) };
    const { judge: desk } = judge(drawing);
    const failure = await failureOf(desk.accept(1, code, { foreground: '#bbb', eyeColor: '#ccc' }));
    expect(failure.code).toBe('unscannable');
    expect(failure.faults.map(({ path }) => path)).toEqual([
      'design.foreground',
      'design.eyeColor',
    ]);
    expect(failure.faults[0]?.message).toMatch(/darken/);
    await expect(desk.accept(1, code, { foreground: '#000000', margin: 4 })).resolves.toBeDefined();
    await expect(desk.accept(1, code, { foreground: '#111' })).rejects.toThrow('drawn');
  });

  test('what is not read back is refused with what helps, and its logo is not kept', async () => {
    const { judge: desk, logos } = judge();
    const given = { logo: logoData, logoScale: 0.25, errorCorrection: 'L', margin: 2 };
    const failure = await failureOf(desk.accept(1, code, given));
    expect(failure.code).toBe('unscannable');
    expect(failure.faults).toMatchObject([{ path: 'design', code: 'unreadable' }]);
    expect(failure.message).toMatch(/errorCorrection H.*logo smaller.*margin of 4/);
    expect(logos.list(1)).toEqual([]);
  });

  test('content that only a weaker symbol holds is the design’s fault', async () => {
    const { judge: desk } = judge();
    const long = { dynamic: false, target: 'x'.repeat(1_900) };
    await expect(desk.accept(1, long, { foreground: '#111' })).resolves.toBeDefined();
    const failure = await failureOf(desk.accept(1, long, { errorCorrection: 'H' }));
    expect(failure.faults).toMatchObject([{ path: 'design.errorCorrection', code: 'too_long' }]);
  });

  test('a shape that merging made is checked too', async () => {
    const { judge: desk } = judge();
    const failure = await failureOf(desk.accept(1, code, { gradient: { from: '#000' } }));
    expect(failure).toMatchObject({ code: 'validation_failed' });
    expect(failure.faults.map(({ path }) => path)).toEqual(['design.gradient.to']);
  });

  test('a preview is the image that would be drawn, and keeps nothing', async () => {
    const { judge: desk, logos } = judge();
    const image = { format: 'svg', size: 200 } as const;
    const bytes = await desk.preview(1, code, { dotStyle: 'rounded', logo: logoData }, image);
    expect(Buffer.from(bytes).toString()).toMatch(/^<svg .*<image /s);
    expect(logos.list(1)).toEqual([]);
  });
});
