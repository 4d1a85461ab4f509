/** A leader that stands still while another one leads, and a standby that stops: over real sockets. */
import { createServer, type IncomingMessage, request as httpRequest } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { LeaderAnswer } from '../../../src/cluster/forward/leader-answer.ts';
import { Client } from '../../support/client.ts';
import { soon } from '../../support/soon.ts';
import { defects, type Standby, standBy, timeouts } from './forwarding-fixture.ts';

afterEach(() => {
  expect(defects.splice(0)).toEqual([]);
});

/** Takes requests, as a process that was stopped does, and never answers. */
async function frozenLeader(): Promise<{ readonly url: string; received: number }> {
  const leader = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => (state.received += 1));
    onTestFinished(() => void socket.destroy());
  });
  await new Promise<void>((resolve) => leader.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void leader.close());
  const { port } = leader.address() as AddressInfo;
  const state = { url: `http://127.0.0.1:${port}`, received: 0 };
  return state;
}

/** Answers with its name; on some paths with one piece of a stream, and no end. */
async function otherLeader(
  name: string,
): Promise<{ readonly url: string; received: number; open: number }> {
  const server = createServer((asked, answer) => {
    state.received += 1;
    if (asked.url === '/v1/slow') {
      setTimeout(() => answer.end(name), timeouts.changedMs / 2);
    } else if (asked.url?.startsWith('/v1/events')) {
      answer.setHeader('Content-Type', 'text/event-stream');
      answer.write(name);
      state.open += 1;
      answer.on('close', () => (state.open -= 1));
    } else answer.end(name);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const state = { url: `http://127.0.0.1:${port}`, received: 0, open: 0 };
  return state;
}

async function behind(url: string): Promise<Standby & { leader: { url: string } | undefined }> {
  const state: { leader: { url: string } | undefined } = { leader: { url } };
  const standby = await standBy(undefined, { leader: () => state.leader });
  return Object.assign(state, standby);
}

const follow = (url: string): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    httpRequest(url, resolve).on('error', reject).end();
  });

const endOf = (answer: IncomingMessage): Promise<'end' | 'cut'> =>
  new Promise((resolve) => {
    answer.on('end', () => resolve('end')).on('error', () => resolve('cut'));
    answer.resume();
  });

test('a change ends within a second of the new leader with an unknown outcome, a read is answered by it', async () => {
  const [frozen, next] = [await frozenLeader(), await otherLeader('next')];
  const standby = await behind(frozen.url);
  const client = new Client(standby.url);
  const changes = ['POST', 'DELETE'].map((method) => client.call(method, '/v1/codes', {}));
  const read = client.call('GET', '/v1/codes');
  await expect.poll(() => frozen.received, soon).toBe(3);
  await new Promise((resolve) => setTimeout(resolve, 2 * timeouts.changedMs));
  const changedMs = performance.now();
  standby.leader = { url: next.url };
  for (const answer of await Promise.all(changes)) {
    expect(answer).toMatchObject({
      status: 503,
      headers: { 'retry-after': '1' },
      json: { code: 'outcome_unknown' },
    });
    expect(answer.json['detail']).toContain('same Idempotency-Key');
    expect(answer.json['detail']).toContain('another machine leads now');
  }
  expect(await read).toMatchObject({ status: 200, text: 'next' });
  expect(performance.now() - changedMs).toBeLessThan(1_000);
});

test('a read ends as well where this machine is to lead', async () => {
  const frozen = await frozenLeader();
  const standby = await behind(frozen.url);
  const read = new Client(standby.url).call('GET', '/v1/codes');
  await expect.poll(() => frozen.received, soon).toBe(1);
  standby.leader = undefined;
  expect(await read).toMatchObject({ status: 503, json: { code: 'not_active' } });
});

test('a leader that gives the lead away still answers what it has begun', async () => {
  const [former, next] = [await otherLeader('former'), await otherLeader('next')];
  const standby = await behind(former.url);
  const answer = new Client(standby.url).call('POST', '/v1/slow', {});
  await expect.poll(() => former.received, soon).toBe(1);
  standby.leader = { url: next.url };
  expect(await answer).toMatchObject({ status: 200, text: 'former' });
});

test.each(['another machine leads', 'the standby stops'])(
  'when %s, live events end quietly, and are closed at their leader',
  async (event) => {
    const [former, next] = [await otherLeader('former'), await otherLeader('next')];
    const standby = await behind(former.url);
    const end = endOf(await follow(`${standby.url}/v1/events/stream`));
    await expect.poll(() => former.open, soon).toBe(1);
    if (event === 'the standby stops') {
      standby.handler.endStreams();
      await standby.server.drain(3_000);
    } else standby.leader = { url: next.url };
    expect(await end).toBe('end');
    await expect.poll(() => former.open, soon).toBe(0);
  },
);

test('what has ended before its connection was made is not sent then', () => {
  const answer = new LeaderAnswer();
  answer.fail(new Error('another machine leads now'));
  expect(answer.isSent).toBe(false);
  const controller = { abort: vi.fn() };
  answer.onRequestStart(controller as unknown as Parameters<typeof answer.onRequestStart>[0]);
  expect(controller.abort).toHaveBeenCalledOnce();
});
