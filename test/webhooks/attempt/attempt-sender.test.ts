/** The pool behind the dispatcher: real threads, real sockets, one result for each attempt. */
import { expect, it, onTestFinished } from 'vitest';
import type { AttemptRecord, AttemptTask } from '../../../src/model/webhook.ts';
import { PoolSender } from '../../../src/webhooks/attempt/attempt-sender.ts';
import { openReceiver } from '../../support/fakes/receiver.ts';
import { eventually } from '../eventually.ts';

/** After its time is over, so long the results of a task may still arrive. */
const lateMsMax = 200;

function openSender(timeoutMs: number, threads = 1): PoolSender {
  const settings = { timeoutMs, allowNetworks: ['127.0.0.0/8'], docsUrl: 'http://localhost/docs' };
  const channel = `test-${Math.random()}`;
  const onDeath = (): void => undefined;
  const limits = { threads, inFlightMax: 1_000, lateMsMax };
  const sender = new PoolSender({ ...limits, channel, settings, onDeath });
  onTestFinished(async () => await sender.close());
  return sender;
}

function taskTo(url: string, deliveryNo: number): AttemptTask {
  return {
    deliveryNo,
    deliveryId: `dlv_${deliveryNo}`,
    eventId: `evt_${deliveryNo}`,
    kind: 'qr.scanned',
    attempt: 1,
    url,
    // A view into a larger buffer, as a decoder gives it.
    body: new Uint8Array(Buffer.from(`----${'x'.repeat(deliveryNo)}----`)).subarray(
      4,
      4 + deliveryNo,
    ),
    secrets: [`whsec_${Buffer.alloc(32, 7).toString('base64')}`],
  };
}

it('reports each attempt once, whatever the others of its task do', async () => {
  const healthy = await openReceiver();
  const hanging = await openReceiver({ kind: 'hang' });
  onTestFinished(async () => void (await Promise.all([healthy.close(), hanging.close()])));
  const sender = openSender(5_000, 2);
  const ends: Array<[number, AttemptRecord | undefined]> = [];
  const tasks = Array.from({ length: 90 }, (_, index) =>
    taskTo((index % 9 === 0 ? hanging : healthy).url('/hook'), index + 1),
  );
  sender.send(tasks, (no, attempt) => ends.push([no, attempt]));
  await eventually(() => ends.length === 80, 'the healthy ones ended');
  expect(ends.every(([, attempt]) => attempt?.failure === undefined)).toBe(true);
  const sizes = healthy.requests.map(({ body }) => body.length).sort((a, b) => a - b);
  const wanted = tasks
    .filter(({ url }) => url === healthy.url('/hook'))
    .map(({ body }) => body.length);
  expect(sizes).toEqual(wanted);
  await eventually(() => ends.length === 90, 'the hanging ones ran out of time');
  expect(ends.slice(80).every(([, attempt]) => attempt?.failure === 'timeout')).toBe(true);
  expect(new Set(ends.map(([no]) => no)).size).toBe(90);
});

it('reports an unknown result when it is closed before an answer', async () => {
  const hanging = await openReceiver({ kind: 'hang' });
  onTestFinished(async () => await hanging.close());
  const sender = openSender(60_000);
  const ends: Array<AttemptRecord | undefined> = [];
  sender.send([taskTo(hanging.url('/'), 1)], (_, attempt) => ends.push(attempt));
  await hanging.arrived(1);
  await sender.close();
  expect(ends).toEqual([undefined]);
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
  const ends: Array<[number, number | undefined]> = [];
  const onResult = (no: number, attempt: AttemptRecord | undefined): void =>
    void ends.push([no, attempt?.status]);
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
    [1, 500],
    [2, undefined],
    [1, 200],
  ]);
});
