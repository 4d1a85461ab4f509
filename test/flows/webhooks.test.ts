/**
 * Webhooks through the real service to a real receiver, over one kill: every kind of event from its real cause,
 * signed, with the bytes that `GET /events` shows; what failed before the kill is retried after it; a private address
 * that is not allowed gets no connection.
 */
import { Webhook } from 'standardwebhooks';
import { expect, it } from 'vitest';
import { dayMs, formatDay, dayOf } from '../../src/model/day.ts';
import { type EventEnvelope, eventKinds } from '../../src/model/event.ts';
import { type Answer, word } from '../support/client.ts';
import { runCommand, startProcess, withDataFolder } from '../support/process.ts';
import { clockAhead } from '../support/fakes/offset-clock.ts';
import { openReceiver, type ReceivedRequest, type Receiver } from '../support/fakes/receiver.ts';
import type { RunningService } from '../support/running-service.ts';
import { eventually, soon } from '../support/soon.ts';
import { TestService } from '../support/test-service.ts';

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

/** One of each kind but `campaign.ended`, by what a person does; ends on a paid plan that is canceled. */
async function causeEverything(service: RunningService): Promise<void> {
  const { api } = service;
  const checkout = await service.api.make('/v1/billing/checkout', {
    plan: 'pro',
    interval: 'month',
  });
  const paid = await runCommand(['billing', 'confirm', word(checkout.id)], {
    QZ_DATA_DIR: service.dataDir,
  });
  expect(paid.code).toBe(0);
  const code = await service.makeCode();
  await api.patch(`/v1/qr-codes/${word(code.id)}`, { target: 'https://example.org/' });
  await service.scan(new URL(word(code.shortUrl)).pathname.slice(1));
  const today = formatDay(dayOf(Date.now()));
  const qrCodeIds = [word(code.id)];
  await service.api.make('/v1/campaigns', {
    name: 'A',
    startDate: today,
    endDate: today,
    qrCodeIds,
  });
  await service.api.make('/v1/conversions', { qrCodeId: code.id });
  const email = 'jane@example.com';
  const { token } = await service.api.make('/v1/team/invites', { email, role: 'editor' });
  const joining = { token, name: 'Jane', password: 'correct horse battery' };
  await api.post('/v1/team/invites/accept', joining, { key: undefined });
  await api.patch('/v1/billing/subscription', { interval: 'year' });
  await api.delete('/v1/billing/subscription');
  const other = await service.makeCode();
  await api.delete(`/v1/qr-codes/${word(other.id)}`);
}

/** Every request is signed, and shows events as `GET /events` does, each once. */
function checkRequests(items: Answer['items'], receiver: Receiver, secret: string): void {
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

it('sends everything, over a kill, signed and to allowed addresses alone', () =>
  withDataFolder(async (dataDir) => {
    const receiver = await openReceiver();
    const flaky = await openReceiver({ kind: 'answer', status: 503 });
    const canary = await openReceiver();
    const first = await startProcess({ dataDir, environment });
    const { apiKey } = first;
    const made = await first.api.make('/v1/webhooks', { url: receiver.url('/all'), events: ['*'] });
    await causeEverything(first);
    await eventually(() => kindsAt(receiver).length >= 10, 'ten kinds');
    // A result whose commit the kill takes away would lead to a repetition.
    const waiting = async (): Promise<number> => {
      const { json } = await first.api.get(`/v1/webhooks/${word(made.id)}`);
      return Number(json.health?.waiting);
    };
    // Each call is one of the 120 requests that a minute of the plan has.
    await expect.poll(waiting, { ...soon, interval: 500 }).toBe(0);
    await first.api.make('/v1/webhooks', { url: flaky.url('/flaky'), events: ['qr.deleted'] });
    const code = await first.makeCode();
    await first.api.delete(`/v1/qr-codes/${word(code.id)}`);
    await flaky.arrived(2);
    await expect.poll(waiting, { ...soon, interval: 500 }).toBe(0);
    await first.kill();
    const before = flaky.requests.length;
    flaky.behave({ kind: 'answer' });

    const clock = clockAhead(2 * dayMs);
    const second = await TestService.start({ dataDir, environment, clock, apiKey });
    await eventually(() => kindsAt(receiver).includes('campaign.ended'), 'the campaign has ended');
    expect(kindsAt(receiver).sort()).toEqual(eventKinds.filter(isOfWalk).sort());
    const ended = envelopesAt(receiver).find(({ event }) => event === 'campaign.ended');
    expect(ended?.data).toMatchObject({ totalScans: 1, uniqueScanners: 1, conversionRate: 1 });
    const { items } = await second.api.get('/v1/events?limit=100');
    checkRequests(items, receiver, word(made.secret));
    await checkRetry(flaky, before);
    const url = canary.url('/x').replace('127.0.0.1', '127.0.0.2');
    const { status } = await second.api.post('/v1/webhooks', { url, events: ['*'] });
    expect(status).toBe(422);
    expect(canary.connections).toBe(0);
    await second.close();
    await Promise.all([receiver, flaky, canary].map((one) => one.close()));
  }));
