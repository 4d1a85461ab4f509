/**
 * The log under abuse: one JSON line an entry, and no key, secret, password or client's address in it,
 * at the most talkative level.
 */
import { expect, it } from 'vitest';
import { Client } from '../support/client.ts';
import { expectCleanLog } from '../support/log-hygiene.ts';
import { sendRaw } from '../support/raw-http.ts';
import { runCommand, withDataFolder } from '../support/process.ts';
import { TestService } from '../support/test-service.ts';
import { trustLoopback } from './load.ts';

const visitor = '203.0.113.77';
const visitor6 = '2001:db8:77::1';
const password = 'correct-horse-battery';
const forged = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ1c3JfMSJ9.c2lnbmF0dXJl';

it('holds no secret and no address, whatever is sent', () =>
  withDataFolder(async (dataDir) => {
    const environment = {
      ...trustLoopback,
      QZ_LOG_LEVEL: 'trace',
      QZ_BOOTSTRAP_PASSWORD: password,
      QZ_REDIRECT_THREADS: '1',
    };
    const service = await TestService.start({ dataDir, environment });
    const { apiKey, ports } = service;
    const made = await runCommand(['keys', 'create', '--name', 'a"b', '--json'], {
      QZ_DATA_DIR: dataDir,
    });
    const { key }: { key: string } = JSON.parse(made.stdout);
    const client = new Client(service.apiUrl, apiKey);
    const headers = { 'x-forwarded-for': `${visitor6}, ${visitor}`, 'user-agent': 'a"b\\c' };
    const calls: Array<[method: string, path: string, options?: object]> = [
      ['POST', '/v1/qr-codes', { body: { target: `https://example.com/?token=${password}` } }],
      ['POST', '/v1/qr-codes', { raw: `{"password":"${password}"` }],
      ['POST', '/v1/qr-codes', { body: { target: `https://u:${password}@example.com/` } }],
      ['GET', `/v1/qr-codes?search=${apiKey}`],
      ['GET', '/v1/qr-codes', { key: forged }],
      ['GET', '/v1/qr-codes', { key }],
      ['GET', `/v1/%0a{"level":"fatal"}`],
      ['DELETE', '/v1/qr-codes/qr_00000000000000000000'],
    ];
    for (const [method, path, options] of calls) {
      expect((await client.call(method, path, { headers, ...options })).status).toBeLessThan(500);
    }
    await client.close();
    const proxied = `Host: q\r\nX-Forwarded-For: ${visitor}\r\n`;
    for (const port of [ports.redirect, ports.api]) {
      await sendRaw(port, [`GET /nobody HTTP/1.1\r\n${proxied}\r\n`], 50);
      await sendRaw(port, [`GET /\u0000 HTTP/1.1\r\n${proxied}Authorization: ${key}\r\n\r\n`], 50);
      await sendRaw(port, [`POST /x HTTP/1.1\r\n${proxied}Content-Length: 1e9\r\n\r\n`], 50);
    }
    await service.close();
    expectCleanLog(service, dataDir, [apiKey, key, forged, password, visitor, visitor6]);
  }));
