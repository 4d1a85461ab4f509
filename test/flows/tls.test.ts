/**
 * The whole service with TLS from files on both ports, its plain ports beside them, through clients that trust its
 * certificate alone; and what is refused or warned of before.
 */
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { strictTransport } from '../../src/api/server/plain-http.ts';
import { loadConfig } from '../../src/platform/config/config.ts';
import { configWarnings } from '../../src/app/machine/start-checks.ts';
import { assertTlsFiles } from '../../src/platform/uws/port.ts';
import { sharedFolder } from '../store/temporary-management.ts';
import { Client, word } from '../support/client.ts';
import { freePorts } from '../support/process.ts';
import type { Ports } from '../support/running-service.ts';
import { soon } from '../support/soon.ts';
import { TestService } from '../support/test-service.ts';

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/receiver-tls/${name}`, import.meta.url));
/** Signed by itself, for localhost and 127.0.0.1. */
const certFile = fixture('certificate.pem');
const keyFile = fixture('key.pem');
const ofApi = { QZ_API_TLS_CERT_FILE: certFile, QZ_API_TLS_KEY_FILE: keyFile };
const owner = { email: 'owner@example.com', password: 'correct horse battery' };

const folder = sharedFolder();
let service: TestService;
let plain: Ports;

beforeAll(async () => {
  const ports = await freePorts();
  plain = await freePorts();
  service = await TestService.start({
    dataDir: join(folder, 'data'),
    ports,
    environment: {
      QZ_API_PUBLIC_URL: `https://127.0.0.1:${ports.api}`,
      ...ofApi,
      QZ_API_HTTP_PORT: String(plain.api),
      QZ_SHORT_URL_BASE: `https://127.0.0.1:${ports.redirect}`,
      QZ_REDIRECT_TLS_CERT_FILE: certFile,
      QZ_REDIRECT_TLS_KEY_FILE: keyFile,
      QZ_REDIRECT_HTTP_PORT: String(plain.redirect),
      QZ_BOOTSTRAP_EMAIL: owner.email,
      QZ_BOOTSTRAP_PASSWORD: owner.password,
    },
  });
});
afterAll(() => service.close());

const pathOf = (url: unknown): string => word(url).replace(/^https:\/\/[^/]+/, '');

/** The plain port beside one of TLS. */
function plainClient(port: keyof Ports): Client {
  const client = new Client(`http://127.0.0.1:${plain[port]}`, service.apiKey);
  onTestFinished(() => client.close());
  return client;
}

it('the API and the dashboard answer over TLS, and tell browsers to stay there', async () => {
  for (const path of ['/', '/health/live', '/v1/qr-codes', '/docs']) {
    const { headers } = await service.api.get(path, { key: undefined });
    expect(headers['strict-transport-security']).toBe('max-age=15552000');
  }
  expect(service.apiUrl).toMatch(/^https:/);
  await expect(fetch(`http://127.0.0.1:${service.ports.api}/health/live`)).rejects.toThrow();
});

it('the API and the dashboard tell browsers nothing that would shut short links without TLS', () => {
  const headerOf = (publicUrl: string, shortUrlBase: string) => {
    const addresses = { QZ_API_PUBLIC_URL: publicUrl, QZ_SHORT_URL_BASE: shortUrlBase };
    return Object.keys(strictTransport(loadConfig(undefined, { ...ofApi, ...addresses })));
  };
  const strict = ['Strict-Transport-Security'];
  expect(headerOf('https://a.example:8080', 'http://a.example:8081')).toEqual([]);
  expect(headerOf('https://a.example:8080', 'https://a.example')).toEqual(strict);
  expect(headerOf('https://a.example', 'http://b.example')).toEqual(strict);
  expect(strictTransport(loadConfig(undefined, {}))).toEqual({});
});

it('the API and the dashboard keep a session in a cookie that never leaves TLS', async () => {
  const key = undefined;
  const signIn = await service.api.post('/v1/auth/sign-in', owner, { key });
  const cookie = signIn.headers['set-cookie'] ?? '';
  expect(cookie).toMatch(/^__Host-quietzone=[^;]+;.*; HttpOnly;.*; Secure$/);
  const headers = { cookie: cookie.split(';')[0] ?? '' };
  expect((await service.api.get('/v1/session', { key, headers })).status).toBe(200);
});

it('the API and the dashboard send images and the stream of events', async () => {
  const { imageUrl, shortUrl, id } = await service.makeCode();
  const origins = [imageUrl, shortUrl].map((url) => new URL(word(url)).origin);
  expect(origins).toEqual([service.apiUrl, service.redirectUrl]);
  const image = await service.api.get(pathOf(imageUrl), { key: undefined });
  expect([image.status, image.headers['content-type']]).toEqual([200, 'image/png']);
  // The second comes from memory.
  expect((await service.api.get(pathOf(imageUrl))).text).toBe(image.text);
  const trusting = new Agent({ connect: { ca: await readFile(certFile) } });
  const headers = { authorization: `Bearer ${service.apiKey}` };
  const asked = { dispatcher: trusting, headers };
  const stream = await request(`${service.apiUrl}/v1/events/stream`, asked);
  let received = '';
  const reading = (async () => {
    for await (const piece of stream.body) {
      received += String(piece);
      if (received.includes(`"qrId":"${word(id)}"`)) return;
    }
  })();
  await expect.poll(() => received, soon).toContain('retry:');
  await service.scan(pathOf(shortUrl).slice(1));
  await reading;
  await trusting.destroy();
});
it('the plain port of the API sends every request to TLS, with the numbers of its quota, and serves nothing', async () => {
  const client = plainClient('api');
  for (const path of ['/', '/codes?x=%20y', '/v1/qr-codes', '//evil.example/a', '/health/live']) {
    const { status, headers, text } = await client.get(path, { key: undefined });
    expect([status, headers['location'], text]).toEqual([308, service.apiUrl + path, '']);
    expect(headers['x-ratelimit-limit']).toMatch(/^\d+$/);
    // RFC 6797, 7.2: not over plain HTTP.
    expect(headers['strict-transport-security']).toBeUndefined();
  }
  const posted = await client.post('/v1/qr-codes', { target: 'https://example.com/plain' });
  const location = `${service.apiUrl}/v1/qr-codes`;
  expect(posted).toMatchObject({ status: 308, headers: { location } });
});

it('short links redirect and count with TLS and beside it', async () => {
  const location = 'https://example.com/tls';
  const code = await service.makeCode({ target: location });
  for (const links of [service.links, plainClient('redirect')]) {
    const answer = await links.get(pathOf(code.shortUrl));
    expect(answer).toMatchObject({ status: 302, headers: { location } });
  }
  await expect.poll(() => service.scansOf(code), soon).toBe(2);
});

it('files that are no pair are refused, and named; a start says so', async () => {
  const notPem = join(folder, 'empty.pem');
  await writeFile(notPem, '');
  const otherKey = join(folder, 'certificate-as-key.pem');
  await copyFile(certFile, otherKey);
  for (const [tlsCertFile, tlsKeyFile, words] of [
    [notPem, keyFile, `${notPem}: .*, expected a PEM certificate`],
    [certFile, join(folder, 'none.pem'), 'none.pem: ENOENT'],
    [certFile, otherKey, `${otherKey}: .*, expected a PEM private key`],
  ] as const) {
    expect(() => assertTlsFiles({ tlsCertFile, tlsKeyFile })).toThrow(new RegExp(words));
  }
  const noPair = { ...ofApi, QZ_API_TLS_KEY_FILE: otherKey };
  const environment = { QZ_API_PUBLIC_URL: 'https://127.0.0.1', ...noPair };
  const started = TestService.start({ dataDir: join(folder, 'refused'), environment });
  await expect(started).rejects.toThrow('expected a PEM private key');
});

// That a start and `doctor` print these warnings is tested in commands.test.ts.
it.each([
  ['beyond loopback, without TLS or a proxy', {}, 1],
  ['with a trusted proxy', { QZ_TRUSTED_PROXIES: '10.0.0.1' }, 0],
  ['on loopback', { QZ_API_HOST: '127.0.0.1' }, 0],
  ['with TLS', ofApi, 0],
])('passwords in clear text are warned of %s', (_, differing, warnings) => {
  const environment = { QZ_SHORT_URL_BASE: 'https://go.example.com', QZ_API_HOST: '0.0.0.0' };
  const config = loadConfig(undefined, { ...environment, ...differing });
  const warning = expect.stringMatching(/clear text: api\.host is 0\.0\.0\.0/);
  expect(configWarnings(config)).toEqual(Array(warnings).fill(warning));
});
