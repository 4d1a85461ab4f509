/** The worker in a real pool: results arrive over its channel one by one, whatever the other attempts do. */
import { BroadcastChannel } from 'node:worker_threads';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { AttemptRecord, AttemptTask } from '../../../src/model/webhook.ts';
import {
  type AttemptBatch,
  type AttemptMessage,
  packBatch,
  recallIndex,
  unpackResults,
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

let results: Array<{ readonly deliveryId: string; readonly attempt: AttemptRecord | undefined }> =
  [];
/** The ids of the attempts of each task. */
const sent: string[][] = [];
let messages = 0;

type RunTask = (tasks: readonly AttemptTask[], recalled?: readonly number[]) => Promise<void>;

/** A thread of its own. @param widthMax attempts in flight to an endpoint */
function openWorker(widthMax: number): RunTask {
  const name = `attempts-${process.pid}-${Math.random()}`;
  const pool = createPool<AttemptBatch, void>({
    file,
    threads: 1,
    queueMax: 100,
    tasksPerThread: 64,
  });
  const channel = new BroadcastChannel(name);
  channel.onmessage = (message: unknown) => {
    const { data } = message as { readonly data: AttemptMessage };
    messages += 1;
    for (const { task, index, attempt } of unpackResults(data)) {
      if (index === recallIndex) results.push({ deliveryId: 'recalled', attempt });
      else results.push({ deliveryId: sent[task]![index]!, attempt });
    }
  };
  onTestFinished(async () => {
    await pool.close();
    channel.close();
  });
  return (tasks, recalled = []) => {
    const no = sent.push(tasks.map(({ deliveryId }) => deliveryId)) - 1;
    return pool.run(packBatch({ channel: name, settings, widthMax, no, recalled }, tasks));
  };
}
const taskTo = (url: string, more: Partial<AttemptTask> = {}): AttemptTask => ({
  ...taskFor(url),
  endpointNo: 1,
  body: '{}',
  ...more,
});

beforeEach(() => {
  results = [];
  messages = 0;
});

describe('a task', () => {
  it('sends all its attempts at once and ends when the last has', async () => {
    const receiver = await openTestReceiver({ kind: 'answer', delayMs: 20 });
    const tasks = Array.from({ length: 50 }, () => taskTo(receiver.url()));
    await openWorker(50)(tasks);
    await expect.poll(() => results.length, soon).toBe(50);
    expect(receiver.requests.length).toBe(50);
    expect(receiver.connections).toBe(50);
    const ids = tasks.map(({ deliveryId }) => deliveryId);
    expect(results.map(({ deliveryId }) => deliveryId).toSorted()).toEqual(ids);
    expect(results.every(({ attempt }) => attempt?.status === 200)).toBe(true);
    // Those of one event loop cycle came in one message.
    expect(messages).toBeLessThan(50);
  });

  it('has so many of an endpoint in flight, in order, beside another that hangs', async () => {
    const gates = Array.from({ length: 12 }, () => Promise.withResolvers<void>());
    const receiver = await openTestReceiver(({ path }) =>
      path === '/hang'
        ? { kind: 'hang' }
        : { kind: 'answer', after: gates[Number(path.slice(1))]!.promise },
    );
    const run = openWorker(3);
    const hanging = run(gates.map(() => taskTo(receiver.url('/hang'), { endpointNo: 2 })));
    const tasks = gates.map((_, at) => taskTo(receiver.url(`/${at}`)));
    // Two pool tasks, one queue.
    const answered = Promise.all([run(tasks.slice(0, 5)), run(tasks.slice(5))]);
    for (let done = 0; done < gates.length; done++) {
      await receiver.arrived(3 + Math.min(gates.length, done + 3));
      const paths = receiver.requests.map(({ path }) => path).filter((path) => path !== '/hang');
      expect(paths.toSorted()).toEqual(
        gates
          .slice(0, done + 3)
          .map((_, at) => `/${at}`)
          .toSorted(),
      );
      expect(receiver.requests).toHaveLength(paths.length + 3);
      gates[done]!.resolve();
    }
    await answered;
    await expect.poll(() => results.length, soon).toBe(gates.length);
    // What hangs is not waited for: only what was not started comes back.
    await run([], [2]);
    await expect.poll(() => results.length, soon).toBe(2 * gates.length - 2);
    // The confirmation is behind all that it confirms.
    expect(results.at(-1)?.deliveryId).toBe('recalled');
    expect(results.slice(gates.length).every(({ attempt }) => attempt === undefined)).toBe(true);
    await receiver.close();
    await hanging;
    await expect.poll(() => results.length, soon).toBe(2 * gates.length + 1);
  });

  it('starts no more of an endpoint after five failures in a row, and goes on with the others', async () => {
    const receiver = await openTestReceiver(({ path }) =>
      path.startsWith('/bad') ? { kind: 'answer', status: 500 } : healthy,
    );
    const run = openWorker(1);
    const to = (paths: readonly string[], endpointNo: number): AttemptTask[] =>
      paths.map((path) => taskTo(receiver.url(path), { endpointNo }));
    const bad = (count: number): string[] => Array.from({ length: count }, () => '/bad');
    // The second has a success after four failures.
    await run([...to(bad(13), 1), ...to([...bad(4), '/good', ...bad(8)], 2)]);
    await expect.poll(() => results.length, soon).toBe(26);
    const statuses = new Map(results.map((one) => [one.deliveryId, one.attempt?.status]));
    const inOrder = sent.at(-1)!.map((id) => statuses.get(id));
    const failed = Array<number>(5).fill(500);
    expect(inOrder.slice(0, 13)).toEqual([...failed, ...Array(8).fill(undefined)]);
    expect(inOrder.slice(13)).toEqual([
      ...Array(4).fill(500),
      200,
      ...failed,
      ...Array(3).fill(undefined),
    ]);
    expect(receiver.requests).toHaveLength(15);
  });

  it('gives back whatever comes after five failures in a row, until it is recalled', async () => {
    const receiver = await openTestReceiver({ kind: 'answer', status: 500 });
    const run = openWorker(1);
    const to = (count: number): AttemptTask[] =>
      Array.from({ length: count }, () => taskTo(receiver.url()));
    // The failures of both count, though the queue was empty between.
    await run(to(4));
    await run(to(3));
    await expect.poll(() => results.length, soon).toBe(7);
    expect(receiver.requests).toHaveLength(5);
    await run(to(2));
    await expect.poll(() => results.length, soon).toBe(9);
    expect(receiver.requests).toHaveLength(5);
    await run([], [1]);
    await run(to(1));
    await expect.poll(() => results.length, soon).toBe(11);
    expect(receiver.requests).toHaveLength(6);
  });

  it('starts no more of an endpoint after a 410', async () => {
    const receiver = await openTestReceiver({ kind: 'answer', status: 410 });
    await openWorker(1)(Array.from({ length: 5 }, () => taskTo(receiver.url())));
    await expect.poll(() => results.length, soon).toBe(5);
    expect(receiver.requests).toHaveLength(1);
  });

  it('posts each result as it arrives, though another attempt hangs', async () => {
    const receiver = await openTestReceiver((request) =>
      request.path === '/hang' ? { kind: 'hang' } : healthy,
    );
    const run = openWorker(16);
    const hang = taskTo(receiver.url('/hang'));
    let isEnded = false;
    const task = run([hang, taskTo(receiver.url('/a')), taskTo(receiver.url('/b'))]);
    void task.then(() => (isEnded = true));
    await expect.poll(() => results.length, soon).toBe(2);
    expect(isEnded).toBe(false);
    await receiver.close();
    await task;
    await expect.poll(() => results.length, soon).toBe(3);
    const { deliveryId } = hang;
    expect(results[2]).toMatchObject({ deliveryId, attempt: { failure: 'reset' } });
  });

  it('runs beside others on its thread, and one bad attempt spoils nothing', async () => {
    const receiver = await openTestReceiver();
    const bad = [
      taskTo('no address'),
      taskTo('http://10.0.0.1/'),
      taskTo(receiver.url(), { secrets: ['broken'] }),
    ];
    const run = openWorker(16);
    const batches = Array.from({ length: 10 }, () => run([taskTo(receiver.url())]));
    await Promise.all([...batches, run(bad), run([])]);
    await expect.poll(() => results.length, soon).toBe(13);
    const failures = results.flatMap(({ attempt }) => attempt?.failure ?? []);
    expect(failures.sort()).toEqual(['blocked_ip', 'protocol', 'unknown']);
  });
});
