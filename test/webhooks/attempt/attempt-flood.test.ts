/** Receivers that pour before they answer: an attempt is over when they have shown it, not at its deadline. */
import { expect, it, onTestFinished } from 'vitest';
import { openSender, taskFor } from './sender.ts';
import { ok, openWild, pour, type WildReceiver } from '../wild-receiver.ts';

const interim = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n';

/** Says `first`, then `more` without end. */
async function openPouring(first: string, more: string): Promise<WildReceiver> {
  const act = (socket: Parameters<typeof pour>[0]): void => {
    socket.write(first);
    if (more !== '') pour(socket, more);
  };
  const receiver = await openWild({ when: 'request', act });
  onTestFinished(() => receiver.close());
  return receiver;
}

it.each([
  ['interim answers', '', interim.repeat(200), undefined],
  ['headers', 'HTTP/1.1 200 OK\r\n', 'X-More: yes\r\n'.repeat(1_000), undefined],
  [
    'trailers',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n',
    'X-Sum: 1\r\n'.repeat(1_000),
    200,
  ],
])('ends with its first thousands of %s', async (_, first, more, status) => {
  const { url } = await openPouring(first, more);
  const record = await openSender({ timeoutMs: 100_000 }).send(taskFor(url));
  expect([record.failure, record.status]).toEqual(['protocol', status]);
});

it('takes a few interim answers for what they are', async () => {
  const { url } = await openPouring(interim.repeat(10) + ok, '');
  const record = await openSender().send(taskFor(url));
  expect([record.failure, record.status]).toEqual([undefined, 200]);
});
