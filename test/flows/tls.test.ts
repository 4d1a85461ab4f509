/**
 * The whole service with TLS from files on both ports, its plain ports beside them, through clients that trust its
 * certificate alone; and what is refused or warned of before.
 */
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { strictTransport } from '../../src/api/https.ts';
import { loadConfig } from '../../src/config.ts';
import { configWarnings } from '../../src/engine/start-checks.ts';
import { assertTlsFiles } from '../../src/http/port.ts';
import { word } from '../support/client.ts';
import { freePorts, type Ports } from '../support/process.ts';
import { soon } from '../support/soon.ts';
import { TestService } from '../support/test-service.ts';

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/receiver-tls/${name}`, import.meta.url));
/** Signed by itself, for localhost and 127.0.0.1. */
const certFile = fixture('certificate.pem');
const keyFile = fixture('key.pem');
const owner = { email: 'owner@example.com', password: 'correct horse battery' };

let folder = '';
let service: TestService;
let plain: Ports;
let trusting: Agent;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quietzone-tls-'));
  const ports = await freePorts();
  plain = await freePorts();
  service = await TestService.start({
    dataDir: join(folder, 'data'),
    ports,
    environment: {
      QZ_API_PUBLIC_URL: `https://127.0.0.1:${ports.api}`,
      QZ_API_TLS_CERT_FILE: certFile,
      QZ_API_TLS_KEY_FILE: keyFile,
      QZ_API_HTTP_PORT: String(plain.api),
      QZ_SHORT_URL_BASE: `https://127.0.0.1:${ports.redirect}`,
      QZ_REDIRECT_TLS_CERT_FILE: certFile,
      QZ_REDIRECT_TLS_KEY_FILE: keyFile,
      QZ_REDIRECT_HTTP_PORT: String(plain.redirect),
      QZ_BOOTSTRAP_EMAIL: owner.email,
      QZ_BOOTSTRAP_PASSWORD: owner.password,
    },
  });
  trusting = new Agent({ connect: { ca: await readFile(certFile) } });
});
afterAll(async () => {
  await trusting.close();
  await service.close();
  await rm(folder, { recursive: true });
});

type Method = 'GET' | 'POST';

async function ask(
  url: string,
  {
    method = 'GET',
    headers = {},
    body,
  }: { method?: Method; headers?: Record<string, string>; body?: string } = {},
) {
  const answer = await request(url, { dispatcher: trusting, method, headers, body: body ?? null });
  return { status: answer.statusCode, headers: answer.headers, text: await answer.body.text() };
}

const json = { 'content-type': 'application/json' };

async function createCode(): Promise<{ readonly [name: string]: string }> {
  const headers = { ...json, authorization: `Bearer ${service.apiKey}` };
  const body = JSON.stringify({ target: 'https://example.com/tls' });
  const { status, text } = await ask(`${service.apiUrl}/v1/qr-codes`, {
    method: 'POST',
    headers,
    body,
  });
  expect(status).toBe(201);
  return JSON.parse(text);
}

describe('the API and the dashboard', () => {
  it('answer over TLS, and tell browsers to stay there', async () => {
    for (const path of ['/', '/health/live', '/v1/qr-codes', '/docs']) {
      const { headers } = await ask(service.apiUrl + path);
      expect(headers['strict-transport-security']).toBe('max-age=15552000');
    }
    expect(service.apiUrl).toMatch(/^https:/);
    const plainly = request(`http://127.0.0.1:${service.ports.api}/health/live`);
    await expect(plainly).rejects.toThrow();
  });

  it('tell browsers nothing that would shut short links of the same host without TLS', () => {
    const api = { QZ_API_TLS_CERT_FILE: certFile, QZ_API_TLS_KEY_FILE: keyFile };
    const headerOf = (publicUrl: string, shortUrlBase: string) => {
      const addresses = { QZ_API_PUBLIC_URL: publicUrl, QZ_SHORT_URL_BASE: shortUrlBase };
      return Object.keys(strictTransport(loadConfig(undefined, { ...api, ...addresses })));
    };
    const strict = ['Strict-Transport-Security'];
    expect(headerOf('https://a.example:8080', 'http://a.example:8081')).toEqual([]);
    expect(headerOf('https://a.example:8080', 'https://a.example')).toEqual(strict);
    expect(headerOf('https://a.example', 'http://b.example')).toEqual(strict);
    expect(strictTransport(loadConfig(undefined, {}))).toEqual({});
  });

  it('keep a session in a cookie that never leaves TLS', async () => {
    const signIn = await ask(`${service.apiUrl}/v1/auth/sign-in`, {
      method: 'POST',
      headers: json,
      body: JSON.stringify(owner),
    });
    expect(signIn.status).toBe(200);
    const cookie = String(signIn.headers['set-cookie']);
    expect(cookie).toMatch(/^__Host-quietzone=[^;]+;.*; HttpOnly;.*; Secure$/);
    const headers = { cookie: cookie.split(';')[0] ?? '' };
    expect((await ask(`${service.apiUrl}/v1/session`, { headers })).status).toBe(200);
  });

  it('send images and the stream of events', async () => {
    const { imageUrl, shortUrl, id } = await createCode();
    const image = await ask(word(imageUrl));
    expect([image.status, image.headers['content-type']]).toEqual([200, 'image/png']);
    // The second comes from memory.
    expect((await ask(word(imageUrl))).text).toBe(image.text);
    const stream = await request(`${service.apiUrl}/v1/events/stream`, {
      dispatcher: trusting,
      headers: { authorization: `Bearer ${service.apiKey}` },
    });
    let received = '';
    const reading = (async () => {
      for await (const piece of stream.body) {
        received += String(piece);
        if (received.includes(`"qrId":"${id}"`)) return;
      }
    })();
    await expect.poll(() => received, soon).toContain('retry:');
    expect((await ask(word(shortUrl))).status).toBe(302);
    await reading;
  });
});

describe('the plain port of the API', () => {
  it('sends every request to TLS, with the numbers of its quota, and serves nothing', async () => {
    const base = `http://127.0.0.1:${plain.api}`;
    for (const path of ['/', '/codes?x=%20y', '/v1/qr-codes', '//evil.example/a', '/health/live']) {
      const { status, headers, text } = await ask(base + path);
      expect([status, headers.location, text]).toEqual([308, service.apiUrl + path, '']);
      expect(headers['x-ratelimit-limit']).toMatch(/^\d+$/);
      // RFC 6797, 7.2: not over plain HTTP.
      expect(headers['strict-transport-security']).toBeUndefined();
    }
    const headers = { ...json, authorization: `Bearer ${service.apiKey}` };
    const body = JSON.stringify({ target: 'https://example.com/plain' });
    const posted = await ask(`${base}/v1/qr-codes`, { method: 'POST', headers, body });
    expect([posted.status, posted.headers.location]).toEqual([
      308,
      `${service.apiUrl}/v1/qr-codes`,
    ]);
  });
});

describe('short links', () => {
  it('redirect and count with TLS and beside it', async () => {
    const code = await createCode();
    const path = new URL(word(code.shortUrl)).pathname;
    for (const base of [service.redirectUrl, `http://127.0.0.1:${plain.redirect}`]) {
      const { status, headers } = await ask(base + path);
      expect([status, headers.location]).toEqual([302, 'https://example.com/tls']);
    }
    const headers = { authorization: `Bearer ${service.apiKey}` };
    const scans = async () =>
      JSON.parse((await ask(`${service.apiUrl}/v1/qr-codes/${code.id}`, { headers })).text).scans;
    await expect.poll(scans, soon).toBe(2);
  });
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
  const environment = {
    QZ_API_PUBLIC_URL: 'https://127.0.0.1',
    QZ_API_TLS_CERT_FILE: certFile,
    QZ_API_TLS_KEY_FILE: otherKey,
  };
  const started = TestService.start({ dataDir: join(folder, 'refused'), environment });
  await expect(started).rejects.toThrow('expected a PEM private key');
});

// That a start and `doctor` print these warnings is tested in commands.test.ts.
it.each([
  ['beyond loopback, without TLS or a proxy', {}, 1],
  ['with a trusted proxy', { QZ_TRUSTED_PROXIES: '10.0.0.1' }, 0],
  ['on loopback', { QZ_API_HOST: '127.0.0.1' }, 0],
  ['with TLS', { QZ_API_TLS_CERT_FILE: certFile, QZ_API_TLS_KEY_FILE: keyFile }, 0],
])('passwords in clear text are warned of %s', (_, differing, warnings) => {
  const environment = { QZ_SHORT_URL_BASE: 'https://go.example.com', QZ_API_HOST: '0.0.0.0' };
  const config = loadConfig(undefined, { ...environment, ...differing });
  const warning = expect.stringMatching(/clear text: api\.host is 0\.0\.0\.0/);
  expect(configWarnings(config)).toEqual(Array(warnings).fill(warning));
});
