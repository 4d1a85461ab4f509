/**
 * Webhooks through the real service to a real receiver, over one kill: every kind of event from its real cause,
 * signed, with the bytes that `GET /events` shows; what failed before the kill is retried after it; a private address
 * that is not allowed gets no connection.
 */
import { Webhook } from 'standardwebhooks';
import { expect, it } from 'vitest';
import { dayMs, formatDay, dayOf } from '../../src/model/day.ts';
import { type EventEnvelope, eventKinds } from '../../src/model/event.ts';
import { Client, type Json, word } from '../support/client.ts';
import {
  freePorts,
  runCommand,
  type RunningService,
  startProcess,
  withDataFolder,
} from '../support/process.ts';
import { clockAhead } from '../support/fakes/offset-clock.ts';
import { openReceiver, type ReceivedRequest, type Receiver } from '../support/fakes/receiver.ts';
import { eventually, soon } from '../support/soon.ts';
import { TestService } from '../support/test-service.ts';

const phone =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1';

/** The service, and its clients. */
interface Walk {
  readonly service: RunningService;
  readonly api: Client;
  readonly links: Client;
}

const environment = {
  QZ_BOOTSTRAP_PLAN: 'free',
  QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.1/32',
  // The second attempt comes soon, the third leaves time for the kill; a slow machine takes more of them.
  QZ_WEBHOOKS_RETRY_DELAYS_MS: `300${',4000'.repeat(20)}`,
};

const envelopesOf = ({ body }: Pick<ReceivedRequest, 'body'>): EventEnvelope[] => {
  const parsed: EventEnvelope | EventEnvelope[] = JSON.parse(body.toString());
  return Array.isArray(parsed) ? parsed : [parsed];
};

const envelopesAt = ({ requests }: Receiver): EventEnvelope[] => requests.flatMap(envelopesOf);

const kindsAt = (receiver: Receiver): string[] => [
  ...new Set(envelopesAt(receiver).map(({ event }) => event)),
];

/** Those of watches need weeks of scans. */
const isOfWalk = (kind: string): boolean => !/^qr\.(silent|spiked|target_)/.test(kind);

function open(service: RunningService, key = service.apiKey): Walk {
  const links = new Client(`http://127.0.0.1:${service.ports.redirect}`);
  return { service, api: new Client(`${service.apiUrl}/v1`, key), links };
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
  const { api, links, service } = walk;
  const checkout = await post(walk, '/billing/checkout', { plan: 'pro', interval: 'month' });
  const paid = await runCommand(['billing', 'confirm', word(checkout.id)], {
    QZ_DATA_DIR: service.dataDir,
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
  await post(walk, '/conversions', { qrCodeId: code.id });
  const email = 'jane@example.com';
  const { token } = await post(walk, '/team/invites', { email, role: 'editor' });
  const joining = { token, name: 'Jane', password: 'correct horse battery' };
  await api.call('POST', '/team/invites/accept', { key: undefined, body: joining });
  await api.call('PATCH', '/billing/subscription', { body: { interval: 'year' } });
  await api.call('DELETE', '/billing/subscription');
  const other = await post(walk, '/qr-codes', { target: 'https://example.com/' });
  await api.call('DELETE', `/qr-codes/${word(other.id)}`);
}

/** Every request is signed, and shows events as `GET /events` does, each once. */
async function checkRequests({ api }: Walk, receiver: Receiver, secret: string): Promise<void> {
  const { items } = await api.call('GET', '/events?limit=100');
  const shown = new Map(items.map((item) => [word(item.id), item]));
  const verifier = new Webhook(secret);
  for (const request of receiver.requests) {
    const { headers } = request;
    const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;
    const signed = Object.fromEntries(names.map((name) => [name, String(headers[name])]));
    expect(() => verifier.verify(request.body.toString(), signed)).not.toThrow();
    expect(headers['x-service-signature']).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
    for (const envelope of envelopesOf(request)) {
      expect(headers['x-service-event']).toBe(envelope.event);
      expect(JSON.stringify(shown.get(envelope.id))).toBe(JSON.stringify(envelope));
      expect('createdAt' in envelope).toBe(envelope.event.startsWith('qr.'));
    }
  }
  const ids = envelopesAt(receiver).map(({ id }) => id);
  expect(ids).toHaveLength(new Set(ids).size);
  expect(ids.sort()).toEqual([...shown.keys()].sort());
}

/** The retry came after the kill, with the same bytes under the next number. */
async function checkRetry(flaky: Receiver, before: number): Promise<void> {
  const requests = (await flaky.arrived(before + 1)).filter(
    ({ headers }) => headers['webhook-id'] === flaky.requests[0]?.headers['webhook-id'],
  );
  expect(new Set(requests.map(({ body }) => body.toString())).size).toBe(1);
  const attempts = requests.map(({ headers }) => Number(headers['x-service-attempt']));
  // The attempt that the kill interrupted may have been repeated under its number.
  expect(attempts).toEqual(attempts.toSorted((a, b) => a - b));
  expect(attempts.at(-1)).toBeGreaterThanOrEqual(attempts.length - 1);
}

it(
  'sends everything, over a kill, signed and to allowed addresses alone',
  { timeout: 240_000 },
  () =>
    withDataFolder(async (dataDir) => {
      const receiver = await openReceiver();
      const flaky = await openReceiver({ kind: 'answer', status: 503 });
      const canary = await openReceiver();
      const first = await startProcess({ dataDir, ports: await freePorts(), environment });
      const { apiKey } = first;
      const walk = open(first);
      const made = await post(walk, '/webhooks', { url: receiver.url('/all'), events: ['*'] });
      await causeEverything(walk);
      await eventually(() => kindsAt(receiver).length >= 10, 'ten kinds');
      // A result whose commit the kill takes away would lead to a repetition.
      const waiting = async (): Promise<number> => {
        const { json } = await walk.api.call('GET', `/webhooks/${word(made.id)}`);
        return Number(json.health?.waiting);
      };
      // Each call is one of the 120 requests that a minute of the plan has.
      await expect.poll(waiting, { ...soon, interval: 500 }).toBe(0);
      await post(walk, '/webhooks', { url: flaky.url('/flaky'), events: ['qr.deleted'] });
      const code = await post(walk, '/qr-codes', { target: 'https://example.com/' });
      await walk.api.call('DELETE', `/qr-codes/${word(code.id)}`);
      await flaky.arrived(2);
      await expect.poll(waiting, { ...soon, interval: 500 }).toBe(0);
      await first.kill();
      await close(walk);
      const before = flaky.requests.length;
      flaky.behave({ kind: 'answer' });

      const clock = clockAhead(2 * dayMs);
      const second = await TestService.start({ dataDir, environment, clock, apiKey });
      const later = open(second);
      await eventually(
        () => kindsAt(receiver).includes('campaign.ended'),
        'the campaign has ended',
      );
      expect(kindsAt(receiver).sort()).toEqual(eventKinds.filter(isOfWalk).sort());
      const ended = envelopesAt(receiver).find(({ event }) => event === 'campaign.ended');
      expect(ended?.data).toMatchObject({ totalScans: 1, uniqueScanners: 1, conversionRate: 1 });
      await checkRequests(later, receiver, word(made.secret));
      await checkRetry(flaky, before);
      const { status } = await later.api.call('POST', '/webhooks', {
        body: { url: canary.url('/x').replace('127.0.0.1', '127.0.0.2'), events: ['*'] },
      });
      expect(status).toBe(422);
      expect(canary.connections).toBe(0);
      await close(later);
      await second.close();
      await Promise.all([receiver, flaky, canary].map((one) => one.close()));
    }),
);
