/** Attempts and results come out of the wire's columns as they went in, through a real structured clone. */
import { expect, it } from 'vitest';
import type { AttemptResult, AttemptTask } from '../../../src/model/webhook.ts';
import {
  packBatch,
  packResult,
  unpackResult,
  unpackTasks,
} from '../../../src/webhooks/attempt/attempt-wire.ts';

const settings = { timeoutMs: 1, allowNetworks: [], docsUrl: '' };

const task = (no: number, parts: Partial<AttemptTask>): AttemptTask => ({
  deliveryNo: no,
  deliveryId: `dlv_${no}`,
  eventId: `evt_${no}`,
  kind: 'qr.created',
  attempt: no,
  url: 'https://a.example/',
  body: Buffer.from(`body ${no}`),
  secrets: ['whsec_a'],
  ...parts,
});

it('packBatch: tasks of one place, of the same place with another secret, and empty bodies', () => {
  const tasks = [
    task(1, {}),
    task(2, { body: new Uint8Array() }),
    task(3, { secrets: ['whsec_b', 'whsec_a'] }),
    task(4, { kind: 'qr.scanned' }),
    task(5, { url: 'https://b.example/' }),
    task(6, {}),
  ];
  const batch = structuredClone(packBatch('c', settings, tasks));
  expect(batch.routes).toHaveLength(4);
  const plain = (one: AttemptTask): object => ({ ...one, body: Buffer.from(one.body).toString() });
  expect(unpackTasks(batch).map(plain)).toEqual(tasks.map(plain));
  expect(unpackTasks(structuredClone(packBatch('c', settings, [])))).toEqual([]);
});

it('packResult: with all fields and with none', () => {
  const results: AttemptResult[] = [
    { deliveryNo: 1, attempt: { atMs: 2, durationMs: 0.5 } },
    {
      deliveryNo: 2,
      attempt: {
        atMs: 3,
        durationMs: 0,
        remoteIp: '192.0.2.1',
        status: 503,
        failure: 'status',
        answer: 'no',
        retryAfterMs: 0,
      },
    },
  ];
  expect(structuredClone(results.map(packResult)).map(unpackResult)).toStrictEqual(results);
});
