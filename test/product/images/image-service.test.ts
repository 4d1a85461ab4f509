/** One drawing for equal requests, and the real pool behind them. */
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { styleOf } from '../../../src/product/images/design/style.ts';
import { draw } from '../../../src/product/images/draw/drawing.ts';
import { imageFormats, type ImageRequest } from '../../../src/product/images/formats.ts';
import { createImageCache, type ImageAnswer } from '../../../src/product/images/image-cache.ts';
import {
  type ImagePool,
  ImageService,
  pooledTasks,
} from '../../../src/product/images/image-service.ts';
import { type ImageTasks, localTasks, runTask } from '../../../src/product/images/tasks.ts';
import { Failure } from '../../../src/model/failure.ts';
import { createPool, WorkerDied } from '../../../src/platform/workers/pool.ts';
import { scanPng } from './read-image.ts';

const request: ImageRequest = {
  content: 'HTTP://LOCALHOST:8081/K7RM2X9D',
  format: 'png',
  size: 128,
};
const stats = { running: 0, waiting: 0, deaths: 0 };
const noLogo = (): never => {
  throw new Error('There is no logo');
};

function serviceOn(tasks: ImageTasks): ImageService {
  return new ImageService({ tasks, logoOf: noLogo });
}

/** A pool that runs in this thread and throws `failures` first. */
function localPool(failures: Error[]): { tasks: ImageTasks; runs: () => number } {
  let runs = 0;
  const run: ImagePool['run'] = async (task) => {
    runs += 1;
    await new Promise((resolve) => setImmediate(resolve));
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    return runTask(task);
  };
  const warm = (): void => undefined;
  const pool = { run, warm, stats: () => stats, close: async () => undefined };
  return { tasks: pooledTasks(pool), runs: () => runs };
}

describe('ImageService on its threads', () => {
  let pool: ImagePool;
  let service: ImageService;
  beforeAll(() => {
    const file = new URL('../../../src/product/images/render.worker.ts', import.meta.url);
    pool = createPool({ file, threads: 1, queueMax: 2 });
    service = serviceOn(pooledTasks(pool));
  });
  afterAll(() => pool.close());

  it('draws a burst of 1,000 requests for one image once', async () => {
    const images = await Promise.all(Array.from({ length: 1_000 }, () => service.render(request)));
    expect(new Set(images).size).toBe(1);
    expect(service.drawn).toBe(1);
    expect(scanPng(images[0]!.bytes)?.content).toBe(request.content);
  });

  it('answers type and a validator that follows the bytes', async () => {
    const png = await service.render(request);
    const svg = await service.render({ ...request, format: 'svg' });
    expect([png.contentType, svg.contentType]).toEqual(['image/png', 'image/svg+xml']);
    expect(png.etag).toMatch(/^"[\w-]{22}"$/);
    expect(svg.etag).not.toBe(png.etag);
    expect((await serviceOn(localTasks).render(request)).etag).toBe(png.etag);
  });

  it('refuses what exceeds the queue with overloaded, and draws the rest', async () => {
    const results = await Promise.allSettled(
      [64, 65, 66, 67, 68].map((size) => service.render({ ...request, size })),
    );
    const done = ['fulfilled', 'fulfilled', 'fulfilled', 'rejected', 'rejected'];
    expect(results.map(({ status }) => status)).toEqual(done);
    const [refused] = results.filter((result) => result.status === 'rejected');
    expect(refused?.reason).toMatchObject({ code: 'overloaded', retryAfterSeconds: 1 });
  });

  it('draws the same bytes in a thread as here, in every format', async () => {
    const style = styleOf({ dotStyle: 'rounded', eyeStyle: 'circle', gradient: stripes });
    for (const format of imageFormats) {
      const { bytes } = await service.render({ ...request, format, style });
      expect(Buffer.from(bytes).equals(await draw({ ...request, format, style }))).toBe(true);
    }
  });

  it('carries a refusal of the drawing across threads', async () => {
    const refused = service.render({ ...request, content: 'x'.repeat(3_000) });
    await expect(refused).rejects.toBeInstanceOf(Failure);
    await expect(refused).rejects.toMatchObject({ code: 'validation_failed' });
  });
});
const stripes = { from: '#003366', to: '#660033' };

describe('ImageService when drawing fails', () => {
  it('draws once more after the death of a thread, and not twice more', async () => {
    const once = localPool([new WorkerDied('gone')]);
    await expect(serviceOn(once.tasks).render(request)).resolves.toBeDefined();
    expect(once.runs()).toBe(2);
    const twice = localPool([new WorkerDied('gone'), new WorkerDied('gone')]);
    await expect(serviceOn(twice.tasks).render(request)).rejects.toBeInstanceOf(WorkerDied);
    expect(twice.runs()).toBe(2);
  });

  it('gives every waiter the failure and keeps none of it', async () => {
    const { tasks, runs } = localPool([new Failure('overloaded', 'full')]);
    const service = serviceOn(tasks);
    const results = await Promise.allSettled([service.render(request), service.render(request)]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(service.render(request)).resolves.toBeDefined();
    expect(runs()).toBe(2);
  });
});

/** Answers in memory stay within their bound. */

const answer = (bytes: number): ImageAnswer => ({
  status: 200,
  headers: { ETag: '"a"' },
  body: new Uint8Array(bytes),
});

test('the bound holds for images of any size; 0 keeps nothing', () => {
  const cache = createImageCache(3_000);
  for (let at = 0; at < 1_000; at += 1) {
    cache.set(`k${at % 7}`, answer(at % 3_500));
    expect(cache.calculatedSize).toBeLessThanOrEqual(3_000);
  }
  for (let at = 0; at < 1_000; at += 1) cache.set(`e${at}`, answer(0));
  expect(cache.size).toBeLessThan(7);
  const none = createImageCache(0);
  none.set('a', answer(0));
  expect(none.size).toBe(0);
});
