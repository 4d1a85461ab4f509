/**
 * Over real sockets: a leader that stands still while another one leads, a standby that stops, and the real API behind a
 * standby, with sessions, limits by address and TLS between the machines.
 */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { LeaderAnswer } from '../../../src/cluster/forward/leader-answer.ts';
import { ClientAddresses } from '../../../src/platform/uws/client-address.ts';
import { Browser } from '../../support/browser.ts';
import { Client } from '../../support/client.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';
import { soon } from '../../support/soon.ts';
import { startTestApi, type TestApp } from '../../support/test-app.ts';
import {
  defects,
  endOf,
  listen,
  proofBy,
  rawGet,
  type Standby,
  standBy,
  timeouts,
} from './forwarding-fixture.ts';

afterEach(() => {
  expect(defects.splice(0)).toEqual([]);
});

/** Answers with its name; on some paths with one piece of a stream, and no end. `frozen` never answers. */
async function otherLeader(name: string) {
  const state = { url: '', received: 0, open: 0 };
  const server = createServer((asked, answer) => {
    state.received += 1;
    if (name === 'frozen') return;
    if (asked.url === '/v1/slow') {
      setTimeout(() => answer.end(name), timeouts.changedMs / 2);
    } else if (asked.url?.startsWith('/v1/events')) {
      answer.setHeader('Content-Type', 'text/event-stream');
      answer.write(name);
      state.open += 1;
      answer.on('close', () => (state.open -= 1));
    } else answer.end(name);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return state;
}

async function behind(url: string): Promise<Standby & { leader: { url: string } | undefined }> {
  const state = { leader: { url } as { url: string } | undefined };
  return Object.assign(state, await standBy(undefined, { leader: () => state.leader }));
}

test('once another machine leads, a change ends with an unknown outcome, and a read is answered by it', async () => {
  const [frozen, next] = [await otherLeader('frozen'), await otherLeader('next')];
  const standby = await behind(frozen.url);
  const client = new Client(standby.url);
  const changes = ['POST', 'DELETE'].map((method) => client.call(method, '/v1/codes', {}));
  const read = client.call('GET', '/v1/codes');
  await expect.poll(() => frozen.received, soon).toBe(3);
  await new Promise((resolve) => setTimeout(resolve, 2 * timeouts.changedMs));
  standby.leader = { url: next.url };
  for (const answer of await Promise.all(changes)) {
    expect(answer).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
      json: { code: 'outcome_unknown' },
    });
    expect(answer.json['detail']).toContain('same Idempotency-Key');
    expect(answer.json['detail']).toContain('another machine leads now');
  }
  expect(await read).toMatchObject({ status: 200, text: 'next' });
});

test('a read ends as well where this machine is to lead', async () => {
  const frozen = await otherLeader('frozen');
  const standby = await behind(frozen.url);
  const read = new Client(standby.url).call('GET', '/v1/codes');
  await expect.poll(() => frozen.received, soon).toBe(1);
  standby.leader = undefined;
  expect(await read).toMatchObject({ status: 503, json: { code: 'not_active' } });
});

test('a leader that gives the lead away still answers what it has begun', async () => {
  const [former, next] = [await otherLeader('former'), await otherLeader('next')];
  const standby = await behind(former.url);
  const answer = new Client(standby.url).call('POST', '/v1/slow', {});
  await expect.poll(() => former.received, soon).toBe(1);
  standby.leader = { url: next.url };
  expect(await answer).toMatchObject({ status: 200, text: 'former' });
});

test.each(['another machine leads', 'the standby stops'])(
  'when %s, live events end quietly, and are closed at their leader',
  async (event) => {
    const [former, next] = [await otherLeader('former'), await otherLeader('next')];
    const standby = await behind(former.url);
    const end = endOf(await rawGet(`${standby.url}/v1/events/stream`));
    await expect.poll(() => former.open, soon).toBe(1);
    if (event === 'the standby stops') {
      standby.handler.endStreams();
      await standby.server.drain(3_000);
    } else standby.leader = { url: next.url };
    expect(await end).toBe('end');
    await expect.poll(() => former.open, soon).toBe(0);
  },
);

test('what has ended before its connection was made is not sent then', () => {
  const answer = new LeaderAnswer();
  answer.fail(new Error('another machine leads now'));
  expect(answer.isSent).toBe(false);
  const controller = { abort: vi.fn() };
  answer.onRequestStart(controller as unknown as Parameters<typeof answer.onRequestStart>[0]);
  expect(controller.abort).toHaveBeenCalledOnce();
});

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
