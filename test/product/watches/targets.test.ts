/** Targets: real requests to a real server, two failures an hour apart, and the host's rest. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { dayMs } from '../../../src/model/day.ts';
import type { TargetChecker } from '../../../src/model/watches/watch.ts';
import { openReceiver, type Receiver, type Script } from '../../support/fakes/receiver.ts';
import { timersOf } from '../../store/timers.ts';
import { openSender } from '../../webhooks/attempt/sender.ts';
import { hourMs, noonMs, openWatchesFixture, type WatchesFixture } from './watches-fixture.ts';

const restMs = 10_000;

async function openTarget(script: Script, host?: string): Promise<Receiver> {
  const receiver = await openReceiver(script, host === undefined ? {} : { host });
  onTestFinished(() => receiver.close());
  return receiver;
}

/** Requests in this thread, by what the thread of the service runs. */
function open(allow = '127.0.0.1/32'): Promise<WatchesFixture> {
  const requests = openSender({ allowNetworks: [allow] });
  const check: TargetChecker['check'] = (request) => requests.check(request);
  return openWatchesFixture({ checker: { check, close: async () => undefined } });
}

/** A code that leads to the server, watched. */
async function watched(target: Receiver, fixture: WatchesFixture): Promise<string> {
  const { id } = await fixture.code(10, target.url('/menu'));
  return await fixture.watch({ subject: { kind: 'code', id }, target: true });
}

/** What is due is asked, HEAD and GET, with the rest of a host before each. */
async function ask(fixture: WatchesFixture): Promise<void> {
  await fixture.pass(restMs);
  await fixture.pass(restMs);
  await fixture.pass(restMs);
}

/** A target that behaves so, watched, and asked for the first time. */
async function askedFirst(script: Script) {
  const target = await openTarget(script);
  const fixture = await open();
  const id = await watched(target, fixture);
  await ask(fixture);
  return { target, fixture, id };
}

const methods = ({ requests }: Receiver): string[] => requests.map(({ method }) => method);
const dueMsOf = (fixture: WatchesFixture, id: string) =>
  fixture.app.store.watches.targetDue.at(id) ?? 0;
const findings = (fixture: WatchesFixture, id: string) =>
  fixture.app.watches.watches.findingsOf(id);

const status = (code: number) => ({ kind: 'answer', status: code }) as const;

describe('a target', () => {
  test('that answers is asked once a day, by HEAD alone, and names itself', async () => {
    const { target, fixture, id } = await askedFirst(status(200));
    expect(methods(target)).toEqual(['HEAD']);
    const [request] = target.requests;
    expect(request?.headers['user-agent']).toBe(
      'Quietzone-Check/1 (+https://example.com/docs/webhooks)',
    );
    const { targetCheckedAtMs = 0 } = findings(fixture, id);
    expect(dueMsOf(fixture, id) - targetCheckedAtMs).toBe(dayMs);
    await fixture.pass(dayMs - hourMs);
    expect(methods(target)).toEqual(['HEAD']);
    await fixture.pass(hourMs);
    await ask(fixture);
    expect(methods(target)).toEqual(['HEAD', 'HEAD']);
  });

  test('that redirects answers, and is not followed', async () => {
    const behind = await openTarget(status(500));
    const { target, fixture, id } = await askedFirst({ kind: 'redirect', to: behind.url('/') });
    expect(findings(fixture, id).failing).toEqual([]);
    expect([methods(target), behind.connections]).toEqual([['HEAD'], 0]);
  });

  test('that refuses HEAD is asked by GET, not a byte of whose answer is waited for', async () => {
    const begun = 'HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n';
    const { target, fixture, id } = await askedFirst(({ method }) =>
      method === 'HEAD' ? status(405) : { kind: 'begin', bytes: begun },
    );
    expect(methods(target)).toEqual(['HEAD', 'GET']);
    expect(findings(fixture, id).failing).toEqual([]);
  });

  test('that fails twice an hour apart is emitted once, and once when it answers again', async () => {
    const { target, fixture, id } = await askedFirst(status(404));
    const { failing } = findings(fixture, id);
    expect(failing).toMatchObject([{ url: target.url('/menu') }]);
    const sinceMs = failing[0]?.sinceMs ?? 0;
    await fixture.pass(hourMs - 2 * restMs);
    expect(fixture.emitted('qr.target_failed')).toEqual([]);
    await fixture.restart();
    await fixture.pass(2 * restMs);
    for (let hour = 0; hour < 4; hour++) {
      await ask(fixture);
      await fixture.pass(hourMs);
    }
    const told = {
      watchId: id,
      name: 'Poster',
      target: target.url('/menu'),
      since: new Date(sinceMs).toISOString(),
    };
    expect(fixture.emitted('qr.target_failed')).toMatchObject([
      { ...told, status: 404, fault: 'status' },
    ]);
    target.behave({ kind: 'answer' });
    await ask(fixture);
    await fixture.pass(2 * dayMs);
    await ask(fixture);
    expect(fixture.emitted('qr.target_recovered')).toMatchObject([{ ...told, status: 200 }]);
    expect(fixture.emitted('qr.target_failed').length).toBe(1);
  });

  test('that answers between two failures has not failed', async () => {
    const target = await openTarget(status(500));
    const fixture = await open();
    const id = await watched(target, fixture);
    for (const behaviour of [200, 500, 200, 500]) {
      await ask(fixture);
      target.behave({ kind: 'answer', status: behaviour });
      await fixture.pass(hourMs);
      await ask(fixture);
      await fixture.pass(Math.max(0, dueMsOf(fixture, id) - fixture.app.clock.now() - 3 * restMs));
    }
    expect(fixture.emitted('qr.target_failed')).toEqual([]);
  });

  test('that the guard refuses cannot be asked: no connection, no incident', async () => {
    const target = await openTarget(status(500));
    const fixture = await open('127.0.0.2/32');
    const id = await watched(target, fixture);
    for (let hour = 0; hour < 5; hour++) {
      await ask(fixture);
      await fixture.pass(hourMs);
    }
    expect(target.connections).toBe(0);
    const found = findings(fixture, id);
    expect(found).toMatchObject({ failing: [], lastFault: { fault: 'blocked_ip' } });
    expect(fixture.emitted('qr.target_failed')).toEqual([]);
  });

  test('that asks for fewer requests has not failed', async () => {
    const { target, fixture, id } = await askedFirst(status(429));
    expect(methods(target)).toEqual(['HEAD']);
    expect(findings(fixture, id)).toMatchObject({
      failing: [],
      lastFault: { fault: 'rate_limited', status: 429 },
    });
  });

  test('that is changed while it fails is over, and not told to have recovered', async () => {
    const { target, fixture } = await askedFirst(({ path }) =>
      status(path === '/menu' ? 404 : 200),
    );
    await fixture.pass(hourMs);
    await ask(fixture);
    const [{ qrCodeId = '' } = {}] = fixture.emitted('qr.target_failed');
    await fixture.app.codes.change(fixture.actor, String(qrCodeId), {
      target: target.url('/other'),
    });
    await fixture.pass(hourMs);
    await ask(fixture);
    const { data } = fixture.app.watches.incidents.page(1, { limit: 9, isOpen: false }, () => true);
    expect(data).toMatchObject([{ endedBy: 'changed' }]);
    expect(fixture.emitted('qr.target_recovered')).toEqual([]);
  });
});

test('a host is asked once in ten seconds, by all watches together, another beside it', async () => {
  const target = await openTarget(status(200));
  const other = await openTarget(status(200), '127.0.0.2');
  const fixture = await open('127.0.0.0/8');
  for (const path of ['/a', '/b', '/c']) {
    const { id } = await fixture.code(10, target.url(path));
    await fixture.watch({ subject: { kind: 'code', id }, target: true });
  }
  const { id } = await fixture.code(10, other.url('/'));
  await fixture.watch({ subject: { kind: 'code', id }, target: true });
  await fixture.pass(0);
  expect([target.requests.length, other.requests.length]).toEqual([0, 0]);
  const seen: number[] = [];
  for (let second = 0; second < 8; second++) {
    await fixture.pass(restMs / 2);
    seen.push(target.requests.length);
  }
  expect(seen).toEqual([0, 1, 1, 2, 2, 3, 3, 3]);
  expect(other.requests.length).toBe(1);
});

test('one address of many codes is asked once', async () => {
  const target = await openTarget(status(200));
  const fixture = await open();
  for (let code = 0; code < 5; code++) await watched(target, fixture);
  await fixture.watch({ target: true });
  await ask(fixture);
  expect(target.requests.length).toBe(1);
  const due = timersOf(fixture.app.store.watches.targetDue);
  expect(due.filter(([dueMs]) => dueMs < noonMs + dayMs)).toEqual([]);
});

test('where no host can be reached it is taken for this machine', async () => {
  const fixture = await open('127.0.0.0/8');
  const targets: Receiver[] = [];
  for (let host = 1; host <= 4; host++) {
    targets.push(await openTarget(status(200), `127.0.0.${host}`));
  }
  for (const target of targets) {
    await watched(target, fixture);
    await target.close();
  }
  for (let hour = 0; hour < 3; hour++) {
    await ask(fixture);
    await fixture.pass(hourMs);
  }
  expect(fixture.emitted('qr.target_failed')).toEqual([]);
});

test('the thread of the service asks as well', async () => {
  const target = await openTarget(status(503));
  const fixture = await openWatchesFixture({
    environment: { QZ_WEBHOOKS_ALLOW_NETWORKS: '127.0.0.1/32' },
  });
  const id = await watched(target, fixture);
  await ask(fixture);
  expect(findings(fixture, id).lastFault).toMatchObject({ fault: 'status', status: 503 });
  expect(methods(target)).toEqual(['HEAD', 'GET']);
});

test('every address of a code with rules is asked', async () => {
  const target = await openTarget(status(200));
  const fixture = await open();
  const { id } = await fixture.code(10, target.url('/main'));
  await fixture.app.codes.change(fixture.actor, id, {
    rules: [{ label: 'phones', if: { os: ['iOS'] }, then: { target: target.url('/ios') } }],
    split: [
      { label: 'a', target: target.url('/a'), weight: 1 },
      { label: 'b', target: target.url('/b'), weight: 1 },
    ],
    fallbackUrl: target.url('/over'),
  });
  await fixture.watch({ subject: { kind: 'code', id }, target: true });
  for (let round = 0; round < 7; round++) await fixture.pass(restMs);
  const paths = target.requests.map(({ path }) => path).sort();
  expect(paths).toEqual(['/a', '/b', '/ios', '/main', '/over']);
});
