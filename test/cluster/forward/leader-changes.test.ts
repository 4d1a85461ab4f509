/** A leader that stands still while another one leads, and a standby that stops: over real sockets. */
import { createServer, type IncomingMessage, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { LeaderAnswer } from '../../../src/cluster/forward/leader-answer.ts';
import { Client } from '../../support/client.ts';
import { soon } from '../../support/soon.ts';
import { defects, type Standby, standBy, timeouts } from './forwarding-fixture.ts';

afterEach(() => {
  expect(defects.splice(0)).toEqual([]);
});

interface OtherLeader {
  readonly url: string;
  received: number;
  open: number;
}

/** Answers with its name; on some paths with one piece of a stream, and no end. `frozen` never answers. */
async function otherLeader(name: string): Promise<OtherLeader> {
  const server = createServer((asked, answer) => {
    state.received += 1;
    if (name === 'frozen') return;
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
  const state = { leader: { url } as { url: string } | undefined };
  return Object.assign(state, await standBy(undefined, { leader: () => state.leader }));
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

test('once another machine leads, a change ends with an unknown outcome, and a read is answered by it', async () => {
  const [frozen, next] = [await otherLeader('frozen'), await otherLeader('next')];
  const standby = await behind(frozen.url);
  const client = new Client(standby.url);
  const changes = ['POST', 'DELETE'].map((method) => client.call(method, '/v1/codes', {}));
  const read = client.call('GET', '/v1/codes');
  await expect.poll(() => frozen.received, soon).toBe(3);
  await new Promise((resolve) => setTimeout(resolve, 2 * timeouts.changedMs));
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
});

test('a read ends as well where this machine is to lead', async () => {
  const frozen = await otherLeader('frozen');
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
