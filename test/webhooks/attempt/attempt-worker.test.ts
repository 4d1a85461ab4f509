/** The worker in a real pool: results arrive over its channel one by one, whatever the other attempts do. */
import { BroadcastChannel } from 'node:worker_threads';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { AttemptResult, AttemptTask } from '../../../src/model/webhook.ts';
import {
  type AttemptBatch,
  type AttemptMessage,
  packBatch,
  unpackResult,
} from '../../../src/webhooks/attempt/attempt-wire.ts';
import { createPool } from '../../../src/workers/pool.ts';
import { healthy } from '../../support/fakes/receiver.ts';
import { soon } from '../../support/soon.ts';
import { openTestReceiver, taskFor } from './sender.ts';

const file = new URL('../../../src/webhooks/attempt/attempt.worker.ts', import.meta.url);
const settings = {
  timeoutMs: 30_000,
  allowNetworks: ['127.0.0.0/8'],
  docsUrl: 'https://example.com/docs',
};

const name = `attempts-${process.pid}`;
const pool = createPool<AttemptBatch, void>({
  file,
  threads: 1,
  queueMax: 100,
  tasksPerThread: 64,
});
const channel = new BroadcastChannel(name);
let results: AttemptResult[] = [];
let messages = 0;
channel.onmessage = (message: unknown) => {
  const { data } = message as { readonly data: AttemptMessage };
  messages += 1;
  results.push(...data.map(unpackResult));
};
const run = (attempts: readonly AttemptTask[]): Promise<void> =>
  pool.run(packBatch(name, settings, attempts));

beforeEach(() => {
  results = [];
  messages = 0;
});

afterAll(async () => {
  await pool.close();
  channel.close();
});

describe('a task', () => {
  it('sends all its attempts at once and ends when the last has', async () => {
    const receiver = await openTestReceiver({ kind: 'answer', delayMs: 20 });
    const tasks = Array.from({ length: 50 }, () => taskFor(receiver.url()));
    await run(tasks);
    await expect.poll(() => results.length, soon).toBe(50);
    expect(receiver.requests.length).toBe(50);
    expect(receiver.connections).toBe(50);
    const sent = tasks.map(({ deliveryNo }) => deliveryNo);
    expect(results.map(({ deliveryNo }) => deliveryNo).sort((a, b) => a - b)).toEqual(sent);
    expect(results.every(({ attempt }) => attempt.status === 200)).toBe(true);
    // Those of one event loop cycle came in one message.
    expect(messages).toBeLessThan(50);
  });

  it('posts each result as it arrives, though another attempt hangs', async () => {
    const receiver = await openTestReceiver((request) =>
      request.path === '/hang' ? { kind: 'hang' } : healthy,
    );
    const hang = taskFor(receiver.url('/hang'));
    let isEnded = false;
    const task = run([hang, taskFor(receiver.url('/a')), taskFor(receiver.url('/b'))]);
    void task.then(() => (isEnded = true));
    await expect.poll(() => results.length, soon).toBe(2);
    expect(isEnded).toBe(false);
    await receiver.close();
    await task;
    await expect.poll(() => results.length, soon).toBe(3);
    const { deliveryNo } = hang;
    expect(results[2]).toMatchObject({ deliveryNo, attempt: { failure: 'reset' } });
  });

  it('runs beside others on its thread, and one bad attempt spoils nothing', async () => {
    const receiver = await openTestReceiver();
    const bad = [
      taskFor('no address'),
      taskFor('http://10.0.0.1/'),
      taskFor(receiver.url(), { secrets: ['broken'] }),
    ];
    const batches = Array.from({ length: 10 }, () => run([taskFor(receiver.url())]));
    await Promise.all([...batches, run(bad), run([])]);
    await expect.poll(() => results.length, soon).toBe(13);
    const failures = results.flatMap(({ attempt }) => attempt.failure ?? []);
    expect(failures.sort()).toEqual(['blocked_ip', 'protocol', 'unknown']);
  });
});
