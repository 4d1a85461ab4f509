/** Which names exist in the operator's network is not for a workspace to learn from its endpoints. */
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/system-clock.ts';
import { Attempts } from '../../src/webhooks/attempt/attempt.ts';
import type { AttemptSender } from '../../src/webhooks/attempt/attempt-sender.ts';
import { Client, type Json, word } from '../support/client.ts';
import { startTestApi } from '../support/test-app.ts';

/** The operator's names, with their addresses and how long the name server takes. */
const names: Readonly<
  Record<string, readonly [milliseconds: number, addresses: readonly string[]]>
> = {
  'database.corp.example': [0, ['10.1.2.3']],
  'mixed.corp.example': [20, ['203.1.113.9', '10.1.2.3']],
};

/** Attempts of this thread, whose name server is the list above. */
function openSender(): AttemptSender {
  const settings = { timeoutMs: 15_000, allowNetworks: [], docsUrl: 'https://qr.example/docs' };
  const resolve = async (name: string): Promise<readonly string[]> => {
    const [milliseconds, addresses] = names[name] ?? [5, []];
    await pause(milliseconds);
    if (addresses.length > 0) return addresses;
    throw Object.assign(new Error(`queryA ENOTFOUND ${name}`), { code: 'ENOTFOUND' });
  };
  const attempts = new Attempts({ settings, clock: systemClock, names: { resolve } });
  return {
    send(tasks, onResult) {
      for (const task of tasks) {
        void attempts.send(task).then((record) => onResult(task.deliveryId, record));
      }
    },
    close: async () => attempts.close(),
  };
}

test('a denied name and one that is not there fail alike, the operator can tell them apart', async () => {
  const service = await startTestApi({ sender: openSender() });
  const client = new Client(service.url, service.apiKey);
  const kept: string[] = [];
  const shown = async (host: string): Promise<Json[]> => {
    const body = { url: `http://${host}/`, events: ['qr.created'] };
    const id = word((await client.call('POST', '/v1/webhooks', { body })).json.id);
    const sent = await client.call('POST', `/v1/webhooks/${id}/test`, {
      body: { event: 'qr.created' },
    });
    const delivery = await client.call(
      'GET',
      `/v1/webhooks/deliveries/${word(sent.json.deliveryId)}`,
    );
    const { deliveries } = service.webhooks;
    kept.push(deliveries.get(1, word(delivery.json.id)).attempts[0]?.failure ?? '');
    const { items } = await client.call('GET', `/v1/webhooks/${id}/deliveries`);
    return [sent.json.attempt, delivery.json.attempts?.[0], items[0]?.lastAttempt].map(
      (attempt = {}) => {
        // Not told by how long it took: all of them wait for the end of the same step.
        expect(Number(attempt.durationMs)).toBeGreaterThan(200);
        return { ...attempt, at: {}, durationMs: {} };
      },
    );
  };
  const absent = await shown('nothing.corp.example');
  expect(absent[0]).toMatchObject({
    failure: 'blocked_ip',
    remoteIp: null,
    status: null,
    answer: null,
  });
  for (const host of Object.keys(names)) expect(await shown(host)).toEqual(absent);
  expect(kept.toSorted()).toEqual(['blocked_ip', 'blocked_ip', 'dns']);
  await client.close();
});
