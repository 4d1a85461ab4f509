/** The pool behind the dispatcher: real threads, real sockets, one result for each attempt. */
import { expect, it, onTestFinished } from 'vitest';
import { BroadcastChannel } from 'node:worker_threads';
import type { AttemptTask } from '../../../src/model/webhook.ts';
import { PoolSender, type SentResult } from '../../../src/webhooks/attempt/attempt-sender.ts';
import { type Receiver, healthy } from '../../support/fakes/receiver.ts';
import { eventually, soon } from '../../support/soon.ts';
import { openTestReceiver, taskFor } from './sender.ts';
import type { AttemptBatch, AttemptEnd } from '../../../src/webhooks/attempt/attempt.worker.ts';
import { createPool } from '../../../src/platform/workers/pool.ts';

/** After its time is over, so long the results of a task may still arrive. */
const lateMsMax = 200;
/** In flight to one endpoint. */
const widthMax = 16;

function openSender(timeoutMs: number, threads = 1): PoolSender {
  const settings = { timeoutMs, allowNetworks: ['127.0.0.0/8'], docsUrl: 'http://localhost/docs' };
  const channel = `test-${Math.random()}`;
  const onDeath = (): void => undefined;
  const limits = { threads, widthMax, lateMsMax };
  const sender = new PoolSender({ ...limits, channel, settings, onDeath });
  onTestFinished(async () => await sender.close());
  return sender;
}

const statusOf = (result: SentResult) => (typeof result === 'object' ? result.status : undefined);

const taskTo = (url: string, no: number, endpointNo = no): AttemptTask =>
  taskFor(url, { deliveryId: `dlv_${no}`, endpointNo, body: 'x'.repeat(no) });
/** To one endpoint. */
const tasksTo = (receiver: Receiver, count: number): AttemptTask[] =>
  Array.from({ length: count }, (_, index) => taskTo(receiver.url('/'), index + 1, 1));

it('reports each attempt once, whatever the others of its task do', async () => {
  const healthy = await openTestReceiver();
  const hanging = await openTestReceiver({ kind: 'hang' });
  const sender = openSender(60_000, 2);
  const ends: Array<[string, SentResult]> = [];
  const tasks = Array.from({ length: 90 }, (_, index) =>
    taskTo((index % 9 === 0 ? hanging : healthy).url('/hook'), index + 1),
  );
  sender.send(tasks, (id, attempt) => ends.push([id, attempt]));
  await eventually(() => ends.length === 80, 'the healthy ones ended');
  expect(ends.every(([, result]) => statusOf(result) === 200)).toBe(true);
  const sizes = healthy.requests.map(({ body }) => body.length).sort((a, b) => a - b);
  const wanted = tasks
    .filter(({ url }) => url === healthy.url('/hook'))
    .map(({ body }) => body.length);
  expect(sizes).toEqual(wanted);
  await hanging.close();
  await eventually(() => ends.length === 90, 'the hanging ones ended with their connections');
  for (const [, result] of ends.slice(80)) expect(result).toHaveProperty('failure');
  expect(new Set(ends.map(([id]) => id)).size).toBe(90);
});

it('has 16 attempts of an endpoint in flight, whatever it is given, and starts them in order', async () => {
  const gates = Array.from({ length: 200 }, () => Promise.withResolvers<void>());
  const receiver = await openTestReceiver(({ body }) => ({
    kind: 'answer',
    after: gates[body.length - 1]!.promise,
  }));
  const sender = openSender(60_000, 2);
  const ended: string[] = [];
  const tasks = tasksTo(receiver, 200);
  sender.send(tasks.slice(0, 100), (id) => ended.push(id));
  sender.send(tasks.slice(100), (id) => ended.push(id));
  await receiver.arrived(widthMax);
  for (let done = 0; done < 200; done += 8) {
    await receiver.arrived(done + 8);
    // So many have ended: of the others only the next 16 may have been started.
    const started = receiver.requests.map(({ body }) => body.length);
    expect(Math.max(...started)).toBeLessThanOrEqual(done + widthMax);
    for (const gate of gates.slice(done, done + 8)) gate.resolve();
  }
  await eventually(() => ended.length === 200, 'all ended');
  expect(new Set(ended).size).toBe(200);
});

it('reports an unknown result when it is closed before an answer', async () => {
  const hanging = await openTestReceiver({ kind: 'hang' });
  const sender = openSender(60_000);
  const ends: SentResult[] = [];
  // In flight, and waiting for their turn.
  const tasks = tasksTo(hanging, 100);
  sender.send(tasks, (_, attempt) => ends.push(attempt));
  await hanging.arrived(1);
  await sender.close();
  expect(ends).toEqual(tasks.map(() => 'unknown'));
});

it('does not give up a later attempt with the task of an earlier one', async () => {
  const quick = await openTestReceiver({ kind: 'answer', status: 500 });
  const hanging = await openTestReceiver({ kind: 'hang' });
  const givenUp = Promise.withResolvers<void>();
  const slow = await openTestReceiver({ kind: 'answer', after: givenUp.promise });
  const sender = openSender(4_000);
  const ends: Array<[string, number | undefined]> = [];
  const onResult = (id: string, result: SentResult): void => void ends.push([id, statusOf(result)]);
  sender.send([taskTo(quick.url('/'), 1), taskTo(hanging.url('/'), 2)], onResult);
  await eventually(() => ends.length === 1, 'the first attempt ended');
  // Not at once: its own time must not be over with that of the first task.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  sender.send([{ ...taskTo(slow.url('/'), 1), attempt: 2 }], onResult);
  await Promise.all([slow.arrived(1), eventually(() => ends.length === 2, 'the second ended')]);
  // In flight when the time is over in which results of the first task may still arrive late.
  await new Promise((resolve) => setTimeout(resolve, 1.5 * lateMsMax));
  givenUp.resolve();
  await eventually(() => ends.length === 3, 'all ended');
  expect(ends).toEqual([
    ['dlv_1', 500],
    ['dlv_2', undefined],
    ['dlv_1', 200],
  ]);
});

it('sends what stands apart at once, whatever its endpoint has waiting', async () => {
  const hanging = await openTestReceiver({ kind: 'hang' });
  const quick = await openTestReceiver();
  onTestFinished(async () => void (await Promise.all([hanging.close(), quick.close()])));
  const sender = openSender(60_000);
  const tasks = tasksTo(hanging, 100);
  sender.send(tasks, () => undefined);
  await hanging.arrived(widthMax);
  const sample = { ...taskTo(quick.url('/'), 500), endpointNo: undefined };
  const result = await new Promise<SentResult>((resolve) => {
    sender.send([sample], (_, sent) => resolve(sent));
  });
  expect(statusOf(result)).toBe(200);
});

it.each([
  ['that its thread has', 40],
  ['and more than its thread is handed', 192],
])(
  'gives back what is not started %s, and hands over nothing newer meanwhile',
  async (_, count) => {
    const gate = Promise.withResolvers<void>();
    const receiver = await openTestReceiver({ kind: 'answer', after: gate.promise });
    const sender = openSender(60_000);
    const ends: Array<[string, SentResult]> = [];
    const onResult = (id: string, result: SentResult): void => void ends.push([id, result]);
    const tasks = tasksTo(receiver, count + 20);
    sender.send(tasks.slice(0, count), onResult);
    await receiver.arrived(widthMax);
    sender.recall(1);
    sender.send(tasks.slice(count), onResult);
    await eventually(() => ends.length === tasks.length - widthMax, 'older and newer came back');
    expect(ends.every(([, result]) => result === 'unsent')).toBe(true);
    const back = ends.map(([id]) => Number(id.slice(4))).toSorted((one, other) => one - other);
    expect(back).toEqual(tasks.slice(widthMax).map(({ body }) => body.length));
    expect(receiver.requests).toHaveLength(widthMax);
    // They all are sent after that, in the order in which they are given.
    sender.send(tasks.slice(widthMax), onResult);
    gate.resolve();
    await eventually(() => ends.length === 2 * tasks.length - widthMax, 'each has a result');
    expect(receiver.requests).toHaveLength(tasks.length);
    const first = receiver.requests.slice(0, 2 * widthMax).map(({ body }) => body.length);
    expect(Math.max(...first)).toBeLessThan(3 * widthMax);
  },
);

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
