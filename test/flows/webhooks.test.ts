/**
 * Webhooks through the real service to a real receiver: every kind of event from its real cause, signed,
 * with the bytes that `GET /events` shows; scans soon after their redirect; what fails is tried again after
 * a `kill -9`, and nothing comes to a receiver that is private and not allowed.
 */
import { Webhook } from 'standardwebhooks';
import { expect, it } from 'vitest';
import { dayMs, formatDay, dayOf } from '../../src/model/day.ts';
import { type EventEnvelope, eventKinds } from '../../src/model/event.ts';
import { Client, type Json, word } from '../support/client.ts';
import {
  freePorts,
  runCommand,
  type ServiceProcess,
  startProcess,
  withDataFolder,
} from '../support/process.ts';
import { openReceiver, type ReceivedRequest, type Receiver } from '../support/receiver.ts';
import { soon } from '../support/soon.ts';
import { eventually } from '../webhooks/eventually.ts';

const phone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1';

interface Walk {
  readonly dataDir: string;
  readonly service: ServiceProcess;
  readonly api: Client;
  readonly links: Client;
}

function envelopesOf({ body }: Pick<ReceivedRequest, 'body'>): EventEnvelope[] {
  const parsed: EventEnvelope | EventEnvelope[] = JSON.parse(body.toString());
  return Array.isArray(parsed) ? parsed : [parsed];
}

const kindsOf = (receiver: Receiver): string[] => [
  ...new Set(
    receiver.requests.flatMap((request) => envelopesOf(request).map(({ event }) => event)),
  ),
];

async function open(
  dataDir: string,
  environment: Readonly<Record<string, string>> = {},
  aheadMs = 0,
): Promise<Walk> {
  const ahead = `const now = Date.now; Date.now = () => now() + ${aheadMs};`;
  const service = await startProcess({
    dataDir,
    ports: await freePorts(),
    environment: { QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.0/8', ...environment },
    nodeArguments: ['--import', `data:text/javascript,${encodeURIComponent(ahead)}`],
  });
  const key = /API key +(\S+)/.exec(service.stdout)?.[1];
  const api = new Client(`${service.apiUrl}/v1`, key);
  const links = new Client(`http://127.0.0.1:${service.ports.redirect}`);
  return { dataDir, service, api, links };
}

async function close({ api, links }: Walk): Promise<void> {
  await Promise.all([api.close(), links.close()]);
}

async function post({ api }: Walk, path: string, body: unknown): Promise<Json> {
  const { status, json, text } = await api.call('POST', path, { body });
  if (status >= 300) throw new Error(`POST ${path}: ${status} ${text}`);
  return json;
}

/** One of each kind but `campaign.ended`, by what a person does; ends on a paid plan that is canceled. */
async function causeEverything(walk: Walk): Promise<void> {
  const { api, links, dataDir } = walk;
  const checkout = await post(walk, '/billing/checkout', { plan: 'pro', interval: 'month' });
  const paid = await runCommand(['billing', 'confirm', word(checkout.id)], {
    QZ_DATA_DIR: dataDir,
  });
  expect(paid.code).toBe(0);
  const code = await post(walk, '/qr-codes', { target: 'https://example.com/' });
  await api.call('PATCH', `/qr-codes/${word(code.id)}`, {
    body: { target: 'https://example.org/' },
  });
  const headers = { 'user-agent': phone };
  await links.call('GET', new URL(word(code.shortUrl)).pathname, { headers });
  const today = formatDay(dayOf(Date.now()));
  const qrCodeIds = [word(code.id)];
  await post(walk, '/campaigns', { name: 'A', startDate: today, endDate: today, qrCodeIds });
  const email = 'jane@example.com';
  const { token } = await post(walk, '/team/invites', { email, role: 'editor' });
  const joining = { token, name: 'Jane', password: 'correct horse battery' };
  await api.call('POST', '/team/invites/accept', { key: undefined, body: joining });
  await api.call('PATCH', '/billing/subscription', { body: { interval: 'year' } });
  await api.call('DELETE', '/billing/subscription');
  const other = await post(walk, '/qr-codes', { target: 'https://example.com/' });
  await api.call('DELETE', `/qr-codes/${word(other.id)}`);
}

it('sends every kind of event, signed, as the list of events shows it', { timeout: 240_000 }, () =>
  withDataFolder(async (dataDir) => {
    const receiver = await openReceiver();
    const free = { QZ_BOOTSTRAP_PLAN: 'free' };
    const walk = await open(dataDir, free);
    const made = await post(walk, '/webhooks', { url: receiver.url('/all'), events: ['*'] });
    await causeEverything(walk);
    await eventually(() => kindsOf(receiver).length >= 10, 'ten kinds');
    const key = walk.service.apiKey;
    // An answer whose commit the kill takes away would be asked for again.
    const waiting = async (): Promise<number> => {
      const { json } = await walk.api.call('GET', `/webhooks/${word(made.id)}`);
      return Number(json.health?.waiting);
    };
    // Each look is one of the 120 requests that a minute of the plan has.
    await expect.poll(waiting, { ...soon, interval: 500 }).toBe(0);
    await walk.service.kill();
    await close(walk);

    const later = await open(dataDir, free, 2 * dayMs);
    await eventually(() => kindsOf(receiver).includes('campaign.ended'), 'the campaign has ended');
    expect(kindsOf(receiver).sort()).toEqual([...eventKinds].sort());
    const { items } = await later.api.call('GET', '/events?limit=100', { key });
    const shown = new Map(items.map((item) => [word(item.id), item]));
    const verifier = new Webhook(word(made.secret));
    for (const request of receiver.requests) {
      const { headers } = request;
      const text = request.body.toString();
      const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;
      const signed = Object.fromEntries(names.map((name) => [name, String(headers[name])]));
      // The service's clock may be ahead of the verifier's, which takes five minutes.
      const isOfToday =
        Math.abs(Number(headers['webhook-timestamp']) * 1_000 - Date.now()) < 60_000;
      if (isOfToday) expect(() => verifier.verify(text, signed)).not.toThrow();
      expect(headers['x-service-signature']).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
      for (const envelope of envelopesOf(request)) {
        expect(headers['x-service-event']).toBe(envelope.event);
        expect(JSON.stringify(shown.get(envelope.id))).toBe(JSON.stringify(envelope));
        expect('createdAt' in envelope).toBe(envelope.event.startsWith('qr.'));
      }
    }
    const ids = receiver.requests.flatMap((request) => envelopesOf(request).map(({ id }) => id));
    expect(ids).toHaveLength(new Set(ids).size);
    expect(ids.sort()).toEqual([...shown.keys()].sort());
    await close(later);
    expect((await later.service.terminate()).code).toBe(0);
    await receiver.close();
  }),
);

it('sends scans soon, and those of a busy code together', { timeout: 240_000 }, () =>
  withDataFolder(async (dataDir) => {
    const receiver = await openReceiver();
    const single = await openReceiver();
    const walk = await open(dataDir);
    const events = ['qr.scanned'];
    await post(walk, '/webhooks', { url: receiver.url('/scans'), events });
    await post(walk, '/webhooks', { url: single.url('/one'), events, maxBatch: 1 });
    const code = await post(walk, '/qr-codes', { target: 'https://example.com/' });
    const path = new URL(word(code.shortUrl)).pathname;
    const latenciesMs: number[] = [];
    for (let scan = 0; scan < 40; scan++) {
      const sentMs = performance.timeOrigin + performance.now();
      const before = receiver.requests.length;
      await walk.links.call('GET', path, { headers: { 'user-agent': phone } });
      const request = (await receiver.arrived(before + 1)).at(-1);
      latenciesMs.push((request?.atMs ?? Number.NaN) - sentMs);
    }
    latenciesMs.sort((a, b) => a - b);
    const burst = Array.from({ length: 300 }, () =>
      walk.links.call('GET', path, { headers: { 'user-agent': phone } }),
    );
    await Promise.all(burst);
    const seen = (of: Receiver): string[] =>
      of.requests.flatMap((request) => envelopesOf(request).map(({ id }) => id));
    await eventually(() => seen(receiver).length >= 340 && seen(single).length >= 340, 'all scans');
    expect(new Set(seen(receiver)).size).toBe(340);
    expect(new Set(seen(single)).size).toBe(340);
    const sizes = receiver.requests.map((request) => envelopesOf(request).length);
    expect(Math.max(...sizes)).toBeGreaterThan(10);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(100);
    expect(receiver.requests.every(({ body }) => body.length <= 65_536)).toBe(true);
    expect(single.requests.every((request) => envelopesOf(request).length === 1)).toBe(true);
    // Not a bench: a busy machine may take longer, but not many times longer.
    const p50 = latenciesMs[20];
    const p95 = latenciesMs[38];
    process.stdout.write(
      `redirect to receiver: p50 ${p50?.toFixed(0)} p95 ${p95?.toFixed(0)} ms\n`,
    );
    expect(p50).toBeLessThan(3_000);
    await close(walk);
    expect((await walk.service.terminate()).code).toBe(0);
    await Promise.all([receiver.close(), single.close()]);
  }),
);

it(
  'goes on after a kill with what failed, and never connects where it must not',
  { timeout: 240_000 },
  () =>
    withDataFolder(async (dataDir) => {
      const receiver = await openReceiver({ kind: 'answer', status: 503 });
      const canary = await openReceiver();
      // The second attempt comes soon, the third leaves time for the kill.
      const quick = { QZ_WEBHOOKS_RETRY_DELAYS_MS: '300,4000,4000,4000' };
      const walk = await open(dataDir, quick);
      await post(walk, '/webhooks', { url: receiver.url('/flaky'), events: ['qr.created'] });
      const code = await post(walk, '/qr-codes', { target: 'https://example.com/' });
      await receiver.arrived(2);
      await walk.service.kill();
      receiver.behave({ kind: 'answer' });
      const before = receiver.requests.length;
      const key = walk.service.apiKey;
      const again = await open(dataDir, { ...quick, QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.1/32' });
      const requests = await receiver.arrived(before + 1);
      const bodies = new Set(requests.map(({ body }) => body.toString()));
      expect(bodies.size).toBe(1);
      expect(envelopesOf(requests[0]!)[0]?.data.id).toBe(code.id);
      const attempts = requests.map(({ headers }) => Number(headers['x-service-attempt']));
      // The attempt that the kill met may have been made again under its number.
      expect(attempts).toEqual(attempts.toSorted((a, b) => a - b));
      expect(attempts.at(-1)).toBeGreaterThanOrEqual(attempts.length - 1);
      const { status } = await again.api.call('POST', '/webhooks', {
        key,
        body: { url: canary.url('/x').replace('127.0.0.1', '127.0.0.2'), events: ['*'] },
      });
      expect(status).toBe(422);
      expect(canary.connections).toBe(0);
      await close(walk);
      await close(again);
      expect((await again.service.terminate()).code).toBe(0);
      await Promise.all([receiver.close(), canary.close()]);
    }),
);
