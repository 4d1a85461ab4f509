/**
 * How long does one PNG take, against the `qrcode` package's own `toBuffer` for the same size?
 * Both are made on this thread; before timing, both must decode to the content.
 */
import jsqr from 'jsqr';
import { PNG } from 'pngjs';
import qrcode from 'qrcode';
import { Bench } from 'tinybench';
import { draw } from '../../src/images/drawing.ts';

export const question = 'How long does one PNG take, against qrcode.toBuffer?';

const content = 'HTTPS://QR.EXAMPLE.COM/K7RM2X9D';
const decode = jsqr.default;

export interface PartResult {
  readonly name: string;
  readonly nanosecondsPerOperation: number;
  readonly note?: string;
}

export async function run(options: { readonly quick: boolean }): Promise<PartResult[]> {
  const results: PartResult[] = [];
  for (const size of options.quick ? [512] : [512, 2048]) {
    const own = () => draw({ content, format: 'png', size });
    const theirs = () => qrcode.toBuffer(content, { width: size, errorCorrectionLevel: 'M' });
    check(own(), size);
    check(await theirs(), size);
    const ownTime = await time('quietzone', own, options);
    const theirTime = await time('qrcode', theirs, options);
    results.push(
      {
        name: `PNG ${size} px`,
        nanosecondsPerOperation: ownTime,
        note: `${(theirTime / ownTime).toFixed(1)} x the rate of qrcode.toBuffer, ${own().length} bytes`,
      },
      {
        name: `PNG ${size} px, qrcode.toBuffer`,
        nanosecondsPerOperation: theirTime,
        note: `${(await theirs()).length} bytes`,
      },
    );
  }
  return results;
}

async function time(
  name: string,
  work: () => unknown,
  options: { readonly quick: boolean },
): Promise<number> {
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
