/** The application with the API, a code and a campaign of it, and what opens links: no key, an address of its own. */
import { onTestFinished } from 'vitest';
import { type Answer, Client, word } from '../../support/client.ts';
import { startTestApi, type TestApp } from '../../support/test-app.ts';
import type { TestAppOptions } from '../../support/test-app-options.ts';

/** Nothing that is answered to a stranger may hold it. */
export const secretTarget = 'https://secret.example/private?offer=42';

/** Closed when the test ends; `client` has the owner's key. */
export async function openReportFixture(options: TestAppOptions = {}) {
  const app = await startTestApi({
    ...options,
    environment: { QZ_TRUSTED_PROXIES: '127.0.0.1', ...options.environment },
  });
  const client = clientOf(app, app.apiKey);
  const body = { target: secretTarget, name: 'Summer <menu>', tags: ['hidden-tag'] };
  const { json } = await client.post('/v1/qr-codes', body);
  const codeId = word(json.id);
  const code = app.codes.get(1, codeId);
  return {
    app,
    client,
    codeId,
    codeNo: code.no,
    /** Shares a report; the answer to the owner. */
    share: (given: object = { qrCodeId: codeId }) => client.make('/v1/reports', given),
  };
}

/** Closed when the test ends. */
export function clientOf(app: Pick<TestApp, 'url'>, key?: string): Client {
  const client = new Client(app.url, key);
  onTestFinished(async () => await client.close());
  return client;
}

let addresses = 0;

/** Opens a link as a stranger does. @param url absolute, as the API gave it */
export async function openLink(
  app: TestApp,
  url: unknown,
  { method = 'GET', query = '', from = '' } = {},
): Promise<Answer> {
  addresses += 1;
  const path = new URL(word(url)).pathname;
  const headers = { 'x-forwarded-for': from === '' ? `198.51.100.${addresses % 250}` : from };
  return await clientOf(app).call(method, `${path}${query}`, { headers });
}
