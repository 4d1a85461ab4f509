/** Attempts and results come out of the wire's columns as they went in, through a real structured clone. */
import { expect, it } from 'vitest';
import type { Attempt, AttemptTask } from '../../../src/model/webhook.ts';
import {
  type AttemptEnd,
  packBatch,
  packResults,
  unpackResults,
  unpackTasks,
} from '../../../src/webhooks/attempt/attempt-wire.ts';

const settings = { timeoutMs: 1, allowNetworks: [], docsUrl: '' };
const common = { channel: 'c', settings, widthMax: 16, no: 5, recalled: [3] };

const task = (no: number, parts: Partial<AttemptTask> = {}): AttemptTask => ({
  deliveryId: `dlv_${no}`,
  endpointNo: 1,
  eventId: `evt_${no}`,
  kind: 'qr.created',
  attempt: no,
  url: 'https://a.example/',
  body: `body ${no} ü`,
  secrets: ['whsec_a'],
  ...parts,
});

it('packBatch: tasks of one place, of the same place with another secret or endpoint, and empty bodies', () => {
  const tasks = [
    task(1),
    task(2, { body: '' }),
    task(3, { secrets: ['whsec_b', 'whsec_a'] }),
    task(4, { kind: 'qr.scanned' }),
    task(5, { url: 'https://b.example/' }),
    task(6, { endpointNo: 7 }),
    task(7, { endpointNo: undefined }),
    task(8),
  ];
  const batch = structuredClone(packBatch(common, tasks));
  expect(batch).toMatchObject(common);
  expect(batch.routes).toHaveLength(6);
  const plain = ({ body, ...one }: Attempt): object => ({
    ...one,
    body: Buffer.from(body).toString(),
  });
  expect(unpackTasks(batch).map(plain)).toEqual(tasks);
  expect(unpackTasks(structuredClone(packBatch(common, [])))).toEqual([]);
});

it('packResults: with all fields, with none, not started, and none taken for another', () => {
  const attempts = [
    { atMs: 2, durationMs: 0.5 },
    {
      atMs: 3,
      durationMs: 0,
      remoteIp: '192.0.2.1',
      status: 503,
      failure: 'status',
      answer: 'no',
      retryAfterMs: 0,
    },
    { atMs: 4, durationMs: 1, remoteIp: '192.0.2.1', status: 200, answer: '' },
    { atMs: 5, durationMs: 2, remoteIp: '192.0.2.1', status: 200 },
    { atMs: 6, durationMs: 3, remoteIp: '192.0.2.1', status: 200, answer: 'x 5' },
    { atMs: 7, durationMs: 4, remoteIp: '192.0.2.1', status: 200, answer: 'x', retryAfterMs: 5 },
    { atMs: 8, durationMs: 5, failure: 'timeout' },
    undefined,
  ] as const;
  const ends: AttemptEnd[] = [...attempts, undefined, ...attempts].map((attempt, index) => ({
    task: 7 + index,
    index,
    attempt,
  }));
  const message = structuredClone(packResults(ends));
  expect(unpackResults(message)).toStrictEqual(ends);
  // What they have in common is there once.
  expect(message.outcomes).toHaveLength(attempts.length - 1);
});
