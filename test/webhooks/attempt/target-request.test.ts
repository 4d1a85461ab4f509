/** Requests to targets against a canary on an address that is not allowed, hostile servers, and the deadline. */
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/system-clock.ts';
import { openNameLookup } from '../../../src/webhooks/attempt/name-lookup.ts';
import { TargetRequests } from '../../../src/webhooks/attempt/target-request.ts';
import type { Receiver } from '../../support/fakes/receiver.ts';
import { openReceiver } from '../../support/fakes/receiver.ts';
import { openNameServer } from './name-server.ts';
import { openTestReceiver } from './sender.ts';

const outside = '127.0.0.2';

let canary: Receiver;
beforeEach(async () => {
  canary = await openReceiver();
});
afterEach(async () => {
  expect(canary.connections).toBe(0);
  await canary.close();
});

function openRequests(servers?: readonly string[], timeoutMs = 5_000): TargetRequests {
  const settings = { allowNetworks: [`${outside}/32`], docsUrl: 'https://example.com/', timeoutMs };
  const names = openNameLookup({
    clock: systemClock,
    hostsFile: '/nonexistent',
    ...(servers === undefined ? {} : { servers }),
  });
  const requests = new TargetRequests({ settings, clock: systemClock, names });
  onTestFinished(() => requests.close());
  return requests;
}

describe('the guard', () => {
  it('refuses literals, names of this machine and names with a denied address', async () => {
    const server = await openNameServer(() => [outside, '127.0.0.1']);
    onTestFinished(() => server.close());
    const requests = openRequests([server.address]);
    const { port } = canary;
    for (const host of ['127.0.0.1', '2130706433', '[::1]', 'localhost', 'both.example']) {
      const answer = await requests.send({ method: 'HEAD', url: `http://${host}:${port}/` });
      expect(answer).toEqual({ failure: 'blocked_ip' });
    }
  });

  it('is not led astray by a redirect', async () => {
    const target = await openTestReceiver(
      { kind: 'redirect', to: canary.url('/') },
      { host: outside },
    );
    const answer = await openRequests().send({ method: 'GET', url: target.url('/') });
    expect(answer).toEqual({ status: 302 });
  });
});

describe('a hostile server', () => {
  it.each([
    ['hangs', { kind: 'hang' }, { failure: 'timeout' }],
    ['resets', { kind: 'reset' }, { failure: 'reset' }],
    ['talks another protocol', { kind: 'raw', bytes: 'SSH-2.0\r\n' }, { failure: 'protocol' }],
    ['floods', { kind: 'flood', status: 200 }, { status: 200 }],
    ['drips', { kind: 'drip', everyMs: 50 }, { status: 200 }],
  ] as const)('that %s', async (_what, behaviour, expected) => {
    const target = await openTestReceiver(behaviour, { host: outside });
    const requests = openRequests(undefined, behaviour.kind === 'hang' ? 300 : 30_000);
    expect(await requests.send({ method: 'GET', url: target.url('/') })).toEqual(expected);
  });
});
