/** The worker in a real pool, one attempt of an endpoint at a time: what it starts, and what it gives back. */
import { BroadcastChannel } from 'node:worker_threads';
import { expect, it, onTestFinished } from 'vitest';
import type { AttemptTask } from '../../../src/model/webhook.ts';
import type { AttemptBatch, AttemptEnd } from '../../../src/webhooks/attempt/attempt.worker.ts';
import { createPool } from '../../../src/workers/pool.ts';
import { healthy } from '../../support/fakes/receiver.ts';
import { soon } from '../../support/soon.ts';
import { openTestReceiver, taskFor } from './sender.ts';

const file = new URL('../../../src/webhooks/attempt/attempt.worker.ts', import.meta.url);
const settings = { timeoutMs: 30_000, allowNetworks: ['127.0.0.0/8'], docsUrl: 'https://a.test/' };

function openWorker() {
  const channelName = `attempts-${process.pid}-${Math.random()}`;
  const pool = createPool<AttemptBatch, void>({
    file,
    threads: 1,
    queueMax: 100,
    tasksPerThread: 64,
  });
  const channel = new BroadcastChannel(channelName);
  const ends: AttemptEnd[] = [];
  channel.onmessage = (message: unknown) => {
    ends.push(...(message as { readonly data: readonly AttemptEnd[] }).data);
  };
  onTestFinished(async () => {
    await pool.close();
    channel.close();
  });
  let no = 0;
  const run = (attempts: readonly AttemptTask[], recalled?: number): Promise<void> =>
    pool.run({ settings, channel: channelName, widthMax: 1, no: ++no, recalled, attempts });
  /** Statuses of a batch, in the order of its attempts. */
  const statuses = (of = no): Array<number | undefined> =>
    ends
      .filter((end) => end.no === of && end.index !== undefined)
      .toSorted((one, other) => one.index! - other.index!)
      .map(({ attempt }) => attempt?.status);
  return { run, ends, statuses };
}

const times = (count: number, url: string, endpointNo = 1): AttemptTask[] =>
  Array.from({ length: count }, () => ({ ...taskFor(url), endpointNo }));

it('starts no more of an endpoint after five failures in a row, or a 410, and continues with the others', async () => {
  const receiver = await openTestReceiver(({ path }) =>
    path === '/' ? healthy : { kind: 'answer', status: Number(path.slice(1)) },
  );
  const { run, ends, statuses } = openWorker();
  const [good, bad, gone] = ['/', '/500', '/410'].map((path) => receiver.url(path));
  await run([
    ...times(7, bad!),
    ...times(4, bad!, 2),
    ...times(1, good!, 2),
    ...times(6, bad!, 2),
    ...times(3, gone!, 3),
  ]);
  await expect.poll(() => ends.length, soon).toBe(21);
  const failed = Array<number>(5).fill(500);
  expect(statuses()).toEqual([
    ...failed,
    undefined,
    undefined,
    ...Array<number>(4).fill(500),
    200,
    ...failed,
    undefined,
    410,
    undefined,
    undefined,
  ]);
});

it('gives back whatever comes after five failures in a row, until it is recalled', async () => {
  const receiver = await openTestReceiver({ kind: 'answer', status: 500 });
  const { run, ends, statuses } = openWorker();
  // The failures of both count, though the queue was empty between.
  await run(times(4, receiver.url()));
  await run(times(3, receiver.url()));
  await run(times(2, receiver.url()));
  await expect.poll(() => ends.length, soon).toBe(9);
  expect([statuses(1), statuses(2), statuses(3)]).toEqual([
    [500, 500, 500, 500],
    [500, undefined, undefined],
    [undefined, undefined],
  ]);
  await run([], 1);
  await run(times(1, receiver.url()));
  await expect.poll(() => ends.length, soon).toBe(11);
  expect([ends[9]?.index, statuses()]).toEqual([undefined, [500]]);
});

it('runs an attempt that cannot be sent beside others, and it spoils nothing', async () => {
  const receiver = await openTestReceiver();
  const { run, ends } = openWorker();
  const [broken] = times(1, receiver.url(), 4);
  const bad = [
    ...times(1, 'no address', 2),
    ...times(1, 'http://10.0.0.1/', 3),
    { ...broken!, secrets: ['broken'] },
  ];
  const batches = Array.from({ length: 10 }, () => run(times(1, receiver.url())));
  await Promise.all([...batches, run(bad), run([])]);
  await expect.poll(() => ends.length, soon).toBe(13);
  const failures = ends.flatMap(({ attempt }) => attempt?.failure ?? []);
  expect(failures.sort()).toEqual(['blocked_ip', 'protocol', 'unknown']);
});
