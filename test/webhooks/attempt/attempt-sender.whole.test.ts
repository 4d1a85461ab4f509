/** The pool behind the dispatcher: real threads, real sockets, one result for each attempt. */
import { expect, it, onTestFinished } from 'vitest';
import type { AttemptTask } from '../../../src/model/webhook.ts';
import { PoolSender, type SentResult } from '../../../src/webhooks/attempt/attempt-sender.ts';
import { openReceiver } from '../../support/fakes/receiver.ts';
import { eventually } from '../eventually.ts';

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

const statusOf = (result: SentResult): number | undefined =>
  typeof result === 'object' ? result.status : undefined;
const failureOf = (result: SentResult): string | undefined =>
  typeof result === 'object' ? result.failure : undefined;

function taskTo(url: string, no: number, endpointNo = no): AttemptTask {
  return {
    deliveryId: `dlv_${no}`,
    endpointNo,
    eventId: `evt_${no}`,
    kind: 'qr.scanned',
    attempt: 1,
    url,
    body: 'x'.repeat(no),
    secrets: [`whsec_${Buffer.alloc(32, 7).toString('base64')}`],
  };
}

it('reports each attempt once, whatever the others of its task do', async () => {
  const healthy = await openReceiver();
  const hanging = await openReceiver({ kind: 'hang' });
  onTestFinished(async () => await healthy.close());
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
  expect(ends.slice(80).every(([, result]) => failureOf(result) !== undefined)).toBe(true);
  expect(new Set(ends.map(([id]) => id)).size).toBe(90);
});

it('has 16 attempts of an endpoint in flight, whatever it is given, and starts them in order', async () => {
  const gates = Array.from({ length: 200 }, () => Promise.withResolvers<void>());
  const receiver = await openReceiver(({ body }) => ({
    kind: 'answer',
    after: gates[body.length - 1]!.promise,
  }));
  onTestFinished(async () => await receiver.close());
  const sender = openSender(60_000, 2);
  const ended: string[] = [];
  const tasks = Array.from({ length: 200 }, (_, index) => taskTo(receiver.url('/'), index + 1, 1));
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
  const hanging = await openReceiver({ kind: 'hang' });
  onTestFinished(async () => await hanging.close());
  const sender = openSender(60_000);
  const ends: SentResult[] = [];
  // In flight, and waiting for their turn.
  const tasks = Array.from({ length: 100 }, (_, index) => taskTo(hanging.url('/'), index + 1, 1));
  sender.send(tasks, (_, attempt) => ends.push(attempt));
  await hanging.arrived(1);
  await sender.close();
  expect(ends).toEqual(tasks.map(() => 'unknown'));
});

it('does not give up a later attempt with the task of an earlier one', async () => {
  const quick = await openReceiver({ kind: 'answer', status: 500 });
  const hanging = await openReceiver({ kind: 'hang' });
  const givenUp = Promise.withResolvers<void>();
  const slow = await openReceiver({ kind: 'answer', after: givenUp.promise });
  onTestFinished(async () => {
    await Promise.all([quick.close(), hanging.close(), slow.close()]);
  });
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
  const hanging = await openReceiver({ kind: 'hang' });
  const quick = await openReceiver();
  onTestFinished(async () => void (await Promise.all([hanging.close(), quick.close()])));
  const sender = openSender(60_000);
  const tasks = Array.from({ length: 100 }, (_, index) => taskTo(hanging.url('/'), index + 1, 1));
  sender.send(tasks, () => undefined);
  await hanging.arrived(widthMax);
  const sample = { ...taskTo(quick.url('/'), 500), endpointNo: undefined };
  const result = await new Promise<SentResult>((resolve) => {
    sender.send([sample], (_, sent) => resolve(sent));
  });
  expect(statusOf(result)).toBe(200);
});

it('gives back at once, in order, what of an endpoint is not started', async () => {
  const hanging = await openReceiver({ kind: 'hang' });
  onTestFinished(async () => await hanging.close());
  const sender = openSender(60_000);
  const ends: Array<[string, SentResult]> = [];
  // More than its thread is handed.
  const tasks = Array.from({ length: 192 }, (_, index) => taskTo(hanging.url('/'), index + 1, 1));
  sender.send(tasks, (id, result) => ends.push([id, result]));
  await hanging.arrived(widthMax);
  sender.recall(1);
  sender.recall(2);
  await eventually(() => ends.length === 192 - widthMax, 'all but those in flight came back');
  expect(ends.every(([, result]) => result === 'unsent')).toBe(true);
  const order = ends.map(([id]) => Number(id.slice(4))).toSorted((one, other) => one - other);
  expect(order).toEqual(Array.from({ length: 192 - widthMax }, (_, at) => at + widthMax + 1));
  expect(hanging.requests).toHaveLength(widthMax);
});

it('hands over nothing newer while older ones come back', async () => {
  const gate = Promise.withResolvers<void>();
  const receiver = await openReceiver({ kind: 'answer', after: gate.promise });
  onTestFinished(async () => await receiver.close());
  const sender = openSender(60_000);
  const ends: Array<[string, SentResult]> = [];
  const onResult = (id: string, result: SentResult): void => void ends.push([id, result]);
  const tasks = Array.from({ length: 60 }, (_, index) => taskTo(receiver.url('/'), index + 1, 1));
  // So few that its thread would be handed the next at once.
  sender.send(tasks.slice(0, 40), onResult);
  await receiver.arrived(widthMax);
  sender.recall(1);
  sender.send(tasks.slice(40), onResult);
  await eventually(() => ends.length === 60 - widthMax, 'older and newer came back');
  expect(ends.every(([, result]) => result === 'unsent')).toBe(true);
  // They all are sent after that, in the order in which they are given.
  sender.send(tasks.slice(widthMax), onResult);
  gate.resolve();
  await eventually(() => ends.length === 2 * 60 - widthMax, 'each has a result');
  expect(receiver.requests).toHaveLength(60);
  const first = receiver.requests.slice(0, 2 * widthMax).map(({ body }) => body.length);
  expect(Math.max(...first)).toBeLessThan(3 * widthMax);
});
