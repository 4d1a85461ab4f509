/** Images from memory. */
import { request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ImageService } from '../../src/images/image-service.ts';
import { localTasks } from '../../src/images/tasks.ts';
import { Client, type Json, word } from '../support/client.ts';
import { startTestApi, type TestApp } from '../support/test-app.ts';

let service: TestApp;
let client: Client;

const images = new ImageService({
  tasks: localTasks,
  logoOf: () => {
    throw new Error('There is no logo');
  },
});

beforeAll(async () => {
  service = await startTestApi({ images });
  client = new Client(service.url, service.apiKey);
});
afterAll(async () => {
  await client.close();
  await service.close();
});

async function make(): Promise<Json> {
  const body = { target: 'https://example.com/menu' };
  return (await client.call('POST', '/v1/qr-codes', { body })).json;
}

async function bytesOf(path: string) {
  const answer = await request(`${service.url}${path}`);
  const body = Buffer.from(await answer.body.arrayBuffer());
  return { status: answer.statusCode, headers: answer.headers, body };
}

test('an image that is requested again is sent from memory with the same answer, and is 410 as soon as its code is deleted', async () => {
  const code = await make();
  const { pathname, search } = new URL(word(code.imageUrl));
  const first = await bytesOf(pathname + search);
  const drawn = images.drawn;
  // A parameter without a meaning, or another order of the others, is the same image from memory.
  for (const query of [
    search,
    `${search}&x=1`,
    `?x=1&${search.slice(1)}`,
    `?download=0&${search.slice(1)}`,
  ]) {
    const again = await bytesOf(pathname + query);
    expect(again.body.equals(first.body)).toBe(true);
    const sent = { date: first.headers.date, 'x-request-id': first.headers['x-request-id'] };
    expect({ ...again.headers, ...sent }).toEqual(first.headers);
  }
  expect(images.drawn).toBe(drawn);
  await client.call('DELETE', `/v1/qr-codes/${word(code.id)}`);
  expect((await bytesOf(pathname + search)).status).toBe(410);
});
