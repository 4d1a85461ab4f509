/** Memory, disk, single flight and the real pool behind them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ByteBoundedCache } from '../../src/images/cache.ts';
import { DiskCache } from '../../src/images/disk-cache.ts';
import { draw, type ImageRequest } from '../../src/images/draw/drawing.ts';
import { ImageService } from '../../src/images/image-service.ts';
import { styleOf } from '../../src/images/design/style.ts';
import { type ImagePool, pooledWork } from '../../src/images/pooled-work.ts';
import { directWork, type ImageWork, perform } from '../../src/images/work.ts';
import { Failure } from '../../src/model/failure.ts';
import { systemClock } from '../../src/system-clock.ts';
import { createPool, WorkerDied } from '../../src/workers/pool.ts';
import { soon } from '../support/soon.ts';
import { scanPng } from './read-image.ts';

const request: ImageRequest = {
  content: 'HTTP://LOCALHOST:8081/K7RM2X9D',
  format: 'png',
  size: 128,
};
const stats = { threads: 1, running: 0, waiting: 0, utilisation: 0, completed: 0, deaths: 0 };
const noLogo = async (): Promise<never> => {
  throw new Error('There is no logo');
};

function serviceOn(work: ImageWork, cacheBytesMax = 1_000_000, disk = noDisk): ImageService {
  return new ImageService({ work, cacheBytesMax, disk, logoOf: noLogo });
}
const noDisk = new DiskCache('', 0, systemClock);

/** A pool that runs here and fails as it is told. */
function localPool(failures: Error[] = []): { work: ImageWork; runs: () => number } {
  let runs = 0;
  const run: ImagePool['run'] = async (task) => {
    runs += 1;
    await new Promise((resolve) => setImmediate(resolve));
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    return perform(task);
  };
  const pool = { run, stats: () => stats, close: async () => undefined };
  return { work: pooledWork(pool), runs: () => runs };
}

describe('ImageService on its threads', () => {
  const opened: ImagePool[] = [];
  const open = (queueMax: number): ImageService => {
    const file = new URL('../../src/images/render.worker.ts', import.meta.url);
    const pool: ImagePool = createPool({ file, threads: 1, queueMax });
    opened.push(pool);
    return serviceOn(pooledWork(pool));
  };
  afterEach(async () => {
    for (const pool of opened.splice(0)) await pool.close();
  });

  it('draws a burst of 1,000 requests for one image once', async () => {
    const service = open(0);
    const images = await Promise.all(Array.from({ length: 1_000 }, () => service.render(request)));
    expect(new Set(images).size).toBe(1);
    expect(service.stats().drawn).toBe(1);
    expect(scanPng(images[0]!.bytes)?.content).toBe(request.content);
    expect(await service.render(request)).toBe(images[0]);
    expect(opened[0]?.stats().completed).toBe(1);
  });

  it('answers type and a validator that follows the bytes', async () => {
    const service = open(10);
    const png = await service.render(request);
    const svg = await service.render({ ...request, format: 'svg' });
    expect([png.contentType, svg.contentType]).toEqual(['image/png', 'image/svg+xml']);
    expect(png.etag).toMatch(/^"[\w-]{22}"$/);
    expect(svg.etag).not.toBe(png.etag);
    expect((await open(10).render(request)).etag).toBe(png.etag);
  });

  it('refuses what exceeds the queue with overloaded, and draws the rest', async () => {
    const service = open(2);
    const results = await Promise.allSettled(
      [64, 65, 66, 67, 68].map((size) => service.render({ ...request, size })),
    );
    const done = ['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected'];
    expect(results.map(({ status }) => status)).toEqual(done);
    const [refused] = results.filter((result) => result.status === 'rejected');
    expect(refused?.reason).toMatchObject({ code: 'overloaded', retryAfterSeconds: 1 });
  });

  it('draws the same bytes in a thread as here: fancy, every format', async () => {
    const service = open(10);
    const look = styleOf({ dotStyle: 'rounded', eyeStyle: 'circle', gradient: stripes });
    for (const format of ['png', 'webp', 'svg', 'pdf', 'eps'] as const) {
      const { bytes } = await service.render({ ...request, format, look });
      expect(Buffer.from(bytes).equals(await draw({ ...request, format, look }))).toBe(true);
    }
  });

  it('carries a refusal of the drawing over the thread border', async () => {
    const refused = open(2).render({ ...request, content: 'x'.repeat(3_000) });
    await expect(refused).rejects.toBeInstanceOf(Failure);
    await expect(refused).rejects.toMatchObject({ code: 'validation_failed' });
  });
});
const stripes = { from: '#003366', to: '#660033' };

describe('ImageService when drawing fails', () => {
  it('draws once more after the death of a thread, and not twice more', async () => {
    const once = localPool([new WorkerDied('gone')]);
    await expect(serviceOn(once.work, 0).render(request)).resolves.toBeDefined();
    expect(once.runs()).toBe(2);
    const twice = localPool([new WorkerDied('gone'), new WorkerDied('gone')]);
    await expect(serviceOn(twice.work, 0).render(request)).rejects.toBeInstanceOf(WorkerDied);
    expect(twice.runs()).toBe(2);
  });

  it('gives every waiter the failure and keeps none of it', async () => {
    const { work, runs } = localPool([new Failure('overloaded', 'full')]);
    const service = serviceOn(work);
    const results = await Promise.allSettled([service.render(request), service.render(request)]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(service.render(request)).resolves.toBeDefined();
    expect(runs()).toBe(2);
  });
});

describe('ImageService and its disk', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'quietzone-images-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('draws a slow image once for all starts, a quick one at each', async () => {
    const slow: ImageRequest = { ...request, look: styleOf({ dotStyle: 'dots' }) };
    const start = (): ImageService =>
      serviceOn(directWork, 0, new DiskCache(folder, 1_000_000, systemClock));
    const first = start();
    const drawn = await first.render(slow);
    await first.render(request);
    await expect.poll(() => first.stats().disk.count, soon).toBe(1);
    const second = start();
    expect(await second.render(slow)).toEqual(drawn);
    await second.render(request);
    expect([first.stats().drawn, second.stats().drawn]).toEqual([2, 1]);
    // Another look of the same content is another image.
    const other = await second.render({ ...slow, look: styleOf({ dotStyle: 'rounded' }) });
    expect(other.etag).not.toBe(drawn.etag);
    await expect.poll(() => second.stats().disk.count, soon).toBe(2);
  });
});

describe('ByteBoundedCache', () => {
  it('lets the least recently used go, and never exceeds its bound', () => {
    const cache = new ByteBoundedCache<number>(1_000);
    cache.put('a', 1, 200);
    cache.put('b', 2, 200);
    expect(cache.find('a')).toBe(1);
    cache.put('c', 3, 200);
    expect([cache.find('a'), cache.find('b'), cache.find('c')]).toEqual([1, undefined, 3]);
    for (let i = 0; i < 1_000; i += 1) {
      cache.put(`k${i % 7}`, i, i % 900);
      expect(cache.bytes).toBeLessThanOrEqual(1_000);
    }
  });

  it('keeps nothing that is larger than itself, and nothing at all with 0', () => {
    const cache = new ByteBoundedCache<number>(1_000);
    cache.put('a', 1, 10);
    cache.put('b', 2, 1_000);
    expect([cache.find('a'), cache.find('b'), cache.count]).toEqual([1, undefined, 1]);
    const none = new ByteBoundedCache<number>(0);
    none.put('a', 1, 0);
    expect(none.count).toBe(0);
  });
});
