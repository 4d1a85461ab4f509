/**
 * How long does an image take? A plain PNG against the `qrcode` package's own `toBuffer` of the same size,
 * then designs, formats, and the scannability check. All on this thread, one after the other; before timing,
 * every PNG must decode to the content.
 */
import jsqr from 'jsqr';
import { PNG } from 'pngjs';
import qrcode from 'qrcode';
import { Bench } from 'tinybench';
import { draw } from '../../src/product/images/draw/drawing.ts';
import type { ImageFormat } from '../../src/product/images/formats.ts';
import { type Style, styleOf } from '../../src/product/images/design/style.ts';
import { isScannable } from '../../src/product/images/design/scannable.ts';

export const question = 'How long does one image take, a plain PNG against qrcode.toBuffer?';

const content = 'HTTPS://QR.EXAMPLE.COM/K7RM2X9D';
const decode = jsqr.default;
const rounded = styleOf({ dotStyle: 'rounded', eyeStyle: 'circle', foreground: '#1d3557' });
const shaded = styleOf({ dotStyle: 'dots', gradient: { from: '#0a3d91', to: '#a4133c' } });

interface PartResult {
  readonly name: string;
  readonly nanosecondsPerOperation: number;
  readonly note?: string;
}
type Length = { readonly quick: boolean };

export async function run(options: Length): Promise<PartResult[]> {
  const results: PartResult[] = [];
  const sizes = options.quick ? [256] : [512, 2048];
  for (const size of sizes) results.push(...(await plain(size, options)));
  for (const size of sizes) {
    for (const [name, style] of Object.entries({ rounded, gradient: shaded })) {
      check(await draw({ content, format: 'png', size, style }), size);
      results.push(await one(`PNG ${size} px, ${name}`, { format: 'png', size, style }, options));
    }
  }
  for (const format of ['svg', 'pdf', 'eps', 'webp'] as const) {
    results.push(
      await one(
        `${format.toUpperCase()} 512, rounded`,
        { format, size: 512, style: rounded },
        options,
      ),
    );
  }
  const scan = () => isScannable({ content, style: rounded });
  if (!(await scan())) throw new Error('Cannot time the reading back: it does not read');
  results.push({
    name: 'design read back',
    nanosecondsPerOperation: await time('scan', scan, options),
  });
  return results;
}

async function plain(size: number, options: Length): Promise<PartResult[]> {
  const own = () => draw({ content, format: 'png', size });
  const theirs = () => qrcode.toBuffer(content, { width: size, errorCorrectionLevel: 'M' });
  check(await own(), size);
  check(await theirs(), size);
  const ownTime = await time('quietzone', own, options);
  const theirTime = await time('qrcode', theirs, options);
  const rate = (theirTime / ownTime).toFixed(1);
  const aSecond = Math.round(1e9 / ownTime);
  return [
    {
      name: `PNG ${size} px`,
      nanosecondsPerOperation: ownTime,
      note: `${rate} x the rate of qrcode.toBuffer, ${aSecond} a second, ${(await own()).length} bytes`,
    },
    {
      name: `PNG ${size} px, qrcode.toBuffer`,
      nanosecondsPerOperation: theirTime,
      note: `${(await theirs()).length} bytes`,
    },
  ];
}

async function one(
  name: string,
  image: { readonly format: ImageFormat; readonly size: number; readonly style: Style },
  options: Length,
): Promise<PartResult> {
  const make = () => draw({ content, ...image });
  const note = `${(await make()).length} bytes`;
  return { name, nanosecondsPerOperation: await time(name, make, options), note };
}

async function time(name: string, work: () => unknown, options: Length): Promise<number> {
  const bench = new Bench({
    time: options.quick ? 1 : 1_000,
    iterations: options.quick ? 1 : 10,
    warmupTime: options.quick ? 0 : 200,
    warmupIterations: options.quick ? 0 : 3,
  });
  bench.add(name, work);
  await bench.run();
  const [task] = bench.tasks;
  const result = task?.result;
  if (result === undefined || !('latency' in result)) {
    throw new Error(`Cannot read the time of ${name}: the run failed`);
  }
  return result.latency.p50 * 1e6;
}

function check(bytes: Uint8Array, size: number): void {
  const png = PNG.sync.read(Buffer.from(bytes));
  const found = decode(new Uint8ClampedArray(png.data), png.width, png.height);
  if (png.width !== size || found?.data !== content) {
    throw new Error(`Cannot time PNG ${size} px: it does not read back`);
  }
}
