/** From POST to a picture that a camera reads: the real drawing threads behind the real API. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { request } from 'undici';
import { DiskCache } from '../../src/images/disk-cache.ts';
import { ImageService } from '../../src/images/image-service.ts';
import { pooledTasks } from '../../src/images/pooled-tasks.ts';
import type { ImageTask, ImageTaskResult } from '../../src/images/tasks.ts';
import { systemClock } from '../../src/system-clock.ts';
import { createPool } from '../../src/workers/pool.ts';
import { scanPng } from '../images/read-image.ts';
import { Client, word } from '../support/client.ts';
import { startTestApi, type TestApp } from '../support/test-app.ts';

let work: ReturnType<typeof createPool<ImageTask, ImageTaskResult>>;
let service: TestApp;
let client: Client;

beforeAll(async () => {
  const file = new URL('../../src/images/render.worker.ts', import.meta.url);
  work = createPool({ file, threads: 1, queueMax: 10 });
  const disk = new DiskCache('', 0, systemClock);
  const logoOf = (): never => unexpectedLogo();
  const images = new ImageService({ tasks: pooledTasks(work), disk, logoOf });
  service = await startTestApi({ images });
  client = new Client(service.url, service.apiKey);
});
afterAll(async () => {
  await client.close();
  await service.close();
  await work.close();
});

function unexpectedLogo(): never {
  throw new Error('No logo here');
}

test('imageUrl leads to a PNG that reads as the short URL', async () => {
  const body = { target: 'https://example.com/menu' };
  const { json } = await client.call('POST', '/v1/qr-codes', { body });
  const { pathname, search } = new URL(word(json.imageUrl));
  const answer = await request(`${service.url}${pathname}${search}&size=300`);
  expect(answer.statusCode).toBe(200);
  expect(answer.headers['content-type']).toBe('image/png');
  const picture = Buffer.from(await answer.body.arrayBuffer());
  expect(scanPng(picture)?.content.toLowerCase()).toBe(word(json.shortUrl).toLowerCase());
});
