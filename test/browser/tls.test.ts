/** The dashboard over TLS of its own: the browser keeps its Secure cookie, and works with it. */
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePorts } from '../support/process.ts';
import { type Harness, openOwnService, signIn } from './harness.ts';

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/receiver-tls/${name}`, import.meta.url));

let harness: Harness;
let plainPort: number;
beforeAll(async () => {
  const ports = await freePorts();
  plainPort = (await freePorts()).api;
  harness = await openOwnService(
    {
      QZ_API_PUBLIC_URL: `https://127.0.0.1:${ports.api}`,
      QZ_API_TLS_CERT_FILE: fixture('certificate.pem'),
      QZ_API_TLS_KEY_FILE: fixture('key.pem'),
      QZ_API_HTTP_PORT: String(plainPort),
    },
    ports,
  );
});
afterAll(() => harness.close());

test('a person who comes over plain HTTP signs in over TLS, stays signed in and makes a code', async () => {
  const page = await harness.open();
  await signIn(page, `http://127.0.0.1:${plainPort}/codes`, harness.owner);
  expect(page.url()).toMatch(`${harness.service.apiUrl}/codes`);
  const [cookie] = await page.context().cookies();
  expect(cookie).toMatchObject({ name: '__Host-quietzone', secure: true, httpOnly: true });
  await page.reload();
  await page.locator('.frame').waitFor();
  await page.goto('/codes/new');
  await page.getByLabel('Web address', { exact: true }).fill('https://example.com/tls');
  await page.getByLabel('Name').fill('Over TLS');
  await page.getByRole('button', { name: 'Create code' }).click();
  await page.getByRole('heading', { level: 1, name: 'Over TLS' }).waitFor();
  expect(harness.complaints).toEqual([]);
});
