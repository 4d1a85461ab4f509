/** Receivers that pour before they answer: an attempt is over when they have shown it, not at its deadline. */
import { expect, it, onTestFinished } from 'vitest';
import { openSender, taskFor } from './sender.ts';
import { ok, openWild, pour } from '../wild-receiver.ts';

const interim = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n';
const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n';

it.each([
  ['ends with thousands of interim answers', '', interim, 'protocol', undefined],
  [
    'ends with thousands of headers',
    'HTTP/1.1 200 OK\r\n',
    'X-More: yes\r\n',
    'protocol',
    undefined,
  ],
  ['ends with thousands of trailers', chunked, 'X-Sum: 1\r\n', 'protocol', 200],
  ['takes a few interim answers', interim.repeat(10) + ok, '', undefined, 200],
])('%s', async (_, first, more, failure, status) => {
  const act = (socket: Parameters<typeof pour>[0]): void => {
    socket.write(first);
    if (more !== '') pour(socket, more.repeat(1_000));
  };
  const receiver = await openWild({ when: 'request', act });
  onTestFinished(() => receiver.close());
  const record = await openSender({ timeoutMs: 100_000 }).send(taskFor(receiver.url));
  expect([record.failure, record.status]).toEqual([failure, status]);
});
