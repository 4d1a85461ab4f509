/** What ends a connection: uSockets never frees what is closed in an immediate. */
import { afterEach, expect, test } from 'vitest';
import * as uWS from 'uWebSockets.js';
import { connectionAfter, inNextCycle } from '../../src/http/framing.ts';
import { ReplyBatch } from '../../src/http/reply-batch.ts';
import { createApp } from '../../src/http/uws-app.ts';
import { createLinkTableMemory } from '../../src/links/layout.ts';
import { LinkReader } from '../../src/links/reader.ts';
import { LinkWriter } from '../../src/links/writer.ts';
import { sendRaw } from '../support/raw-http.ts';

const ends: Array<() => void> = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

test('work for the next cycle is done after the immediates of this one, and before those of the next', async () => {
  const order: string[] = [];
  const nextImmediate = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  await nextImmediate();
  inNextCycle(() => order.push('first'));
  inNextCycle(() => order.push('second'));
  setImmediate(() => order.push('immediate'));
  expect(order).toEqual([]);
  await nextImmediate();
  expect(order).toEqual(['first', 'second', 'immediate']);
});

/** Answers each request in an immediate, as a redirect thread does. @returns its port, and where each answer ended */
function listen(): { port: number; inImmediate: boolean[] } {
  const memory = createLinkTableMemory({
    slotBytesMax: 2 ** 20,
    arenaBytesMax: 2 ** 24,
    readersMax: 1,
    linksExpected: 10,
  });
  new LinkWriter(memory).put({
    key: 'BATCH',
    codeNo: 1,
    workspaceNo: 1,
    target: 'https://example.com/',
    expiresAtMs: 0,
    scansLeft: -1,
    state: 'live',
  });
  const links = new LinkReader(memory, 0);
  const batch = new ReplyBatch(links);
  const inImmediate: boolean[] = [];
  let isImmediate = false;
  const app = createApp();
  app.get('/*', (response, request) => {
    const end = response.end.bind(response);
    response.end = (...given) => {
      inImmediate.push(isImmediate);
      return end(...given);
    };
    batch.add(response, links.find(request.getUrl(), 1), connectionAfter(request, false));
    setImmediate(() => {
      isImmediate = true;
      batch.answer(false);
      isImmediate = false;
    });
  });
  ends.push(() => app.close());
  let port = 0;
  app.listen('127.0.0.1', 0, (socket) => {
    if (socket !== false) port = uWS.us_socket_local_port(socket);
  });
  return { port, inImmediate };
}

test('the last answer of a connection waits for the next cycle, any other does not', async () => {
  const { port, inImmediate } = listen();
  const head = 'GET /BATCH HTTP/1.1\r\nHost: a\r\n';
  const asked = await sendRaw(port, [`${head}Connection: close\r\n\r\n`]);
  expect(asked.text).toMatch(/^HTTP\/1.1 302 [^]*Connection: close\r\n/);
  expect(asked.text).toContain('Location: https://example.com/\r\n');
  expect([asked.closed, inImmediate]).toEqual([true, [false]]);
  const withBody = await sendRaw(port, [`${head}Content-Length: 0\r\n\r\n`]);
  expect(withBody.text).toMatch(/^HTTP\/1.1 302 [^]*Connection: close\r\n/);
  expect([withBody.closed, inImmediate]).toEqual([true, [false, false]]);
  expect((await sendRaw(port, [`${head}\r\n`])).text).not.toMatch(/^Connection/m);
  expect(inImmediate).toEqual([false, false, true]);
});
