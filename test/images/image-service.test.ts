/** Cache, single flight and the real pool behind them. */
import { afterEach, describe, expect, it } from 'vitest';
import { ByteBoundedCache } from '../../src/images/cache.ts';
import { draw, type ImageRequest } from '../../src/images/drawing.ts';
import { ImageService, openImageService } from '../../src/images/image-service.ts';
import { Failure } from '../../src/model/failure.ts';
import { WorkerDied, type Pool } from '../../src/workers/pool.ts';
import { scanPng } from './read-image.ts';

const request: ImageRequest = {
  content: 'HTTP://LOCALHOST:8081/K7RM2X9D',
  format: 'png',
  size: 128,
};
const stats = { threads: 1, running: 0, waiting: 0, utilisation: 0, completed: 0, deaths: 0 };

/** A pool that runs here and fails as it is told. */
function localPool(failures: Error[] = []): {
  pool: Pool<ImageRequest, Uint8Array>;
  runs: () => number;
} {
  let runs = 0;
  const run = async (task: ImageRequest): Promise<Uint8Array> => {
    runs += 1;
    await new Promise((resolve) => setImmediate(resolve));
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    return draw(task);
  };
  return { pool: { run, stats: () => stats, close: async () => undefined }, runs: () => runs };
}

describe('ImageService on its threads', () => {
  const opened: ImageService[] = [];
  const open = (options: { queueMax: number }): ImageService => {
    const service = openImageService({ threads: 1, cacheBytesMax: 1_000_000, ...options });
    opened.push(service);
    return service;
  };
  afterEach(async () => {
    for (const service of opened.splice(0)) await service.close();
  });

  it('draws a burst of 1,000 requests for one image once', async () => {
    const service = open({ queueMax: 0 });
    const images = await Promise.all(Array.from({ length: 1_000 }, () => service.render(request)));
    expect(new Set(images).size).toBe(1);
    expect(service.stats().drawn).toBe(1);
    expect(scanPng(images[0]!.bytes)?.content).toBe(request.content);
    expect(await service.render(request)).toBe(images[0]);
    expect(service.stats().pool.completed).toBe(1);
  });

  it('answers type and a validator that follows the bytes', async () => {
    const service = open({ queueMax: 10 });
    const png = await service.render(request);
    const svg = await service.render({ ...request, format: 'svg' });
    expect([png.contentType, svg.contentType]).toEqual(['image/png', 'image/svg+xml']);
    expect(png.etag).toMatch(/^"[\w-]{22}"$/);
    expect(svg.etag).not.toBe(png.etag);
    const again = open({ queueMax: 10 });
    expect((await again.render(request)).etag).toBe(png.etag);
  });

  it('refuses what exceeds the queue with overloaded, and draws the rest', async () => {
    const service = open({ queueMax: 2 });
    const results = await Promise.allSettled(
      [64, 65, 66, 67, 68].map((size) => service.render({ ...request, size })),
    );
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'fulfilled',
      'rejected',
      'rejected',
    ]);
    const [refused] = results.filter((result) => result.status === 'rejected');
    expect(refused?.reason).toMatchObject({ code: 'overloaded', retryAfterSeconds: 1 });
  });

  it('carries a refusal of the drawing over the thread border', async () => {
    const service = open({ queueMax: 2 });
    const refused = service.render({ ...request, content: 'x'.repeat(3_000) });
    await expect(refused).rejects.toBeInstanceOf(Failure);
    await expect(refused).rejects.toMatchObject({ code: 'validation_failed' });
  });
});

describe('ImageService when drawing fails', () => {
  it('draws once more after the death of a thread, and not twice more', async () => {
    const once = localPool([new WorkerDied('gone')]);
    await expect(new ImageService(once.pool, 0).render(request)).resolves.toBeDefined();
    expect(once.runs()).toBe(2);
    const twice = localPool([new WorkerDied('gone'), new WorkerDied('gone')]);
    await expect(new ImageService(twice.pool, 0).render(request)).rejects.toBeInstanceOf(
      WorkerDied,
    );
    expect(twice.runs()).toBe(2);
  });

  it('gives every waiter the failure and keeps none of it', async () => {
    const { pool, runs } = localPool([new Failure('overloaded', 'full')]);
    const service = new ImageService(pool, 1_000_000);
    const results = await Promise.allSettled([service.render(request), service.render(request)]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(service.render(request)).resolves.toBeDefined();
    expect(runs()).toBe(2);
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
