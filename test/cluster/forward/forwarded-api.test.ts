/** The real API behind a standby: sessions, limits by address, TLS between the machines. */
import { readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { ClientAddresses } from '../../../src/http/client-address.ts';
import { Browser } from '../../support/browser.ts';
import { Client } from '../../support/client.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';
import { startTestApi, type TestApp } from '../../support/test-app.ts';
import { listen, proofBy, standBy } from './forwarding-fixture.ts';

const owner = { email: 'owner@example.com', password: 'correct horse battery' };

async function cluster() {
  const clock = new TestClock();
  const app: TestApp = await startTestApi({
    clock,
    limits: { forwarded: proofBy(clock) },
    environment: {
      QZ_BOOTSTRAP_EMAIL: owner.email,
      QZ_BOOTSTRAP_PASSWORD: owner.password,
    },
  });
  // As behind a proxy that names the client.
  const proxied = { addresses: new ClientAddresses(['127.0.0.1']) };
  const { url } = await standBy(app.url, {}, proxied);
  return { app, url };
}

test('a person signs in and makes changes by way of a standby', async () => {
  const { url } = await cluster();
  const browser = new Browser({ url });
  onTestFinished(() => browser.close());
  expect(await browser.signIn(owner.email, owner.password)).toMatchObject({ status: 200 });
  const body = { target: 'https://example.com/menu' };
  const here = { origin: url, 'sec-fetch-site': 'same-origin' };
  const made = await browser.call('POST', '/v1/qr-codes', { body, headers: here });
  expect(made.status).toBe(201);
  const byOther = { headers: { origin: 'https://example.org' }, body };
  expect((await browser.call('POST', '/v1/qr-codes', byOther)).status).toBe(403);
  const forged = { headers: { 'x-csrf-token': 'x' }, body };
  expect((await browser.call('POST', '/v1/qr-codes', forged)).status).toBe(403);
});

test('those without a key are counted by their own address, not by the standby’s', async () => {
  const { url, app } = await cluster();
  const ask = async (from: string, at = url) => {
    const answer = await new Client(at).call('GET', '/v1/qr-codes', {
      headers: { 'x-forwarded-for': from },
    });
    expect(answer.status).toBe(401);
    return Number(answer.headers['x-ratelimit-remaining']);
  };
  const first = await ask('203.0.113.1');
  expect(await ask('203.0.113.1')).toBe(first - 1);
  expect(await ask('203.0.113.2')).toBe(first);
  // Nobody forwards these two, and no proxy is trusted there: both are of this machine.
  expect(await ask('203.0.113.2', app.url)).toBe(first);
  expect(await ask('203.0.113.3', app.url)).toBe(first - 1);
});

test('TLS to the leader is checked by its own name, whatever name the client has asked for', async () => {
  const fixture = (name: string): string =>
    fileURLToPath(new URL(`../../fixtures/receiver-tls/${name}`, import.meta.url));
  const tlsCertFile = fixture('certificate.pem');
  const tls = { tlsCertFile, tlsKeyFile: fixture('key.pem') };
  const leader = await listen(
    {
      handle: async (request) => ({
        status: 200,
        headers: {},
        body: request.header('host') ?? '',
      }),
      refuse: () => ({ status: 400, headers: {}, body: '' }),
    },
    { tls },
  );
  const headers = { host: 'links.example.org' };
  const known = getCACertificates();
  onTestFinished(() => setDefaultCACertificates(known));
  for (const host of ['localhost', '127.0.0.1']) {
    const leaderUrl = `https://${host}:${leader.port}`;
    const { url } = await standBy(leaderUrl);
    const refused = await new Client(url).call('POST', '/v1/a', { headers });
    expect(refused).toMatchObject({ status: 503, json: { code: 'not_active' } });
    setDefaultCACertificates([...known, readFileSync(tlsCertFile, 'utf8')]);
    const answer = await new Client(url).call('GET', '/v1/a', { headers });
    expect(answer).toMatchObject({ status: 200, text: 'links.example.org' });
    setDefaultCACertificates(known);
  }
});
