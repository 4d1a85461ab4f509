/** What ends a connection: uSockets never frees what is closed in an immediate. */
import { executionAsyncResource } from 'node:async_hooks';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, test } from 'vitest';
import * as uWS from 'uWebSockets.js';
import type { Config } from '../../src/config.ts';
import { ClientAddresses } from '../../src/http/client-address.ts';
import { MissThrottle } from '../../src/http/miss-throttle.ts';
import { Pages } from '../../src/http/pages.ts';
import { Redirect } from '../../src/http/redirect.ts';
import { Refusals } from '../../src/http/refusals.ts';
import { ScannerAddresses } from '../../src/http/scanner-address.ts';
import { createApp } from '../../src/http/uws-app.ts';
import { createLinkTableMemory } from '../../src/links/layout.ts';
import { LinkReader } from '../../src/links/reader.ts';
import { LinkWriter } from '../../src/links/writer.ts';
import { JournalPositions } from '../../src/scans/journal/positions.ts';
import { JournalWriter } from '../../src/scans/journal/writer.ts';
import { Geo } from '../../src/scans/visitor/geo/geo.ts';
import { systemClock } from '../../src/system-clock.ts';
import { createLatencyHistogram } from '../../src/telemetry/latency-histogram.ts';
import { linkOf } from '../links/table.ts';
import { sendRaw } from '../support/raw-http.ts';

const ends: Array<() => void> = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

interface Ending {
  /** Whether the request asked for the end of its connection. */
  readonly closes: boolean;
  readonly inImmediate: boolean;
}

/**
 * A redirect in this process.
 * @param afterRequest called in the cycle of each request, after it was taken
 * @returns its port, and in which phase of the event loop each answer ended
 */
function listen(
  durability: Config['durability'],
  afterRequest: (redirect: Redirect) => void = () => undefined,
): { port: number; endings: Ending[] } {
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-closing-'));
  mkdirSync(join(folder, '0'));
  const memory = createLinkTableMemory({
    slotBytesMax: 2 ** 20,
    arenaBytesMax: 2 ** 24,
    readersMax: 1,
    linksExpected: 10,
  });
  new LinkWriter(memory, systemClock).put(linkOf('ABCD2345', { codeNo: 1 }));
  const addresses = new ScannerAddresses(new ClientAddresses([]));
  const redirect = new Redirect({
    links: new LinkReader(memory, 0),
    geo: new Geo({}),
    journal: new JournalWriter({
      folder: join(folder, '0'),
      journal: 0,
      position: 0,
      segmentBytesMax: 2 ** 20,
      segmentMsMax: 60_000,
      backlogBytesMax: 2 ** 20,
      tails: new JournalPositions(),
    }),
    durability,
    addresses,
    refusals: new Refusals(addresses, new MissThrottle(0), { pages: new Pages({}), rootUrl: '' }),
    clock: systemClock,
    latency: createLatencyHistogram(),
  });
  const endings: Ending[] = [];
  const app = createApp();
  const get = app.get.bind(app);
  app.get = (pattern, handle) =>
    get(pattern, (response, request) => {
      const closes = request.getHeader('connection') === 'close';
      const end = response.end.bind(response);
      response.end = (...given) => {
        const inImmediate = executionAsyncResource().constructor.name === 'Immediate';
        endings.push({ closes, inImmediate });
        return end(...given);
      };
      const handled = handle(response, request);
      afterRequest(redirect);
      return handled;
    });
  redirect.attach(app);
  ends.push(() => {
    app.close();
    rmSync(folder, { recursive: true, force: true });
  });
  let port = 0;
  app.listen('127.0.0.1', 0, (socket) => {
    if (socket !== false) port = uWS.us_socket_local_port(socket);
  });
  return { port, endings };
}

const head = 'GET /ABCD2345 HTTP/1.1\r\nHost: a\r\n';
const closing = `${head}Connection: close\r\n\r\n`;

it.each(['process', 'power'] as const)(
  'a connection that asks for its end gets it outside of immediates, %s',
  async (durability) => {
    const { port, endings } = listen(durability);
    const asked = await sendRaw(port, [closing]);
    expect(asked.text).toMatch(/^HTTP\/1.1 302 [^]*Connection: close\r\n/);
    const withBody = await sendRaw(port, [`${head}Content-Length: 0\r\n\r\n`]);
    expect(withBody.text).toMatch(/^HTTP\/1.1 302 [^]*Connection: close\r\n/);
    expect([asked.closed, withBody.closed]).toEqual([true, true]);
    expect(endings.map(({ inImmediate }) => inImmediate)).toEqual([false, false]);
  },
);

test('an answer that keeps its connection leaves at the end of its cycle', async () => {
  const { port, endings } = listen('process');
  expect((await sendRaw(port, [`${head}\r\n`])).text).not.toMatch(/^Connection/m);
  expect(endings).toEqual([{ closes: false, inImmediate: true }]);
});

test('one connection that ends takes its whole cycle out of the immediate', async () => {
  const { port, endings } = listen('process');
  const keeping = `${head}\r\n`;
  const sockets = await Promise.all([keeping, keeping].map((request) => connected(port, request)));
  endings.length = 0;
  const answers = sockets.map((socket) => once(socket, 'data'));
  // Written together, so that the server, in this thread too, finds both at once.
  sockets[0]!.write(keeping);
  sockets[1]!.write(closing);
  const [kept, ended] = (await Promise.all(answers)).map(String);
  expect(kept).toMatch(/^HTTP\/1.1 302 (?![^]*Connection)/);
  expect(ended).toMatch(/^HTTP\/1.1 302 [^]*Connection: close\r\n/);
  await once(sockets[1]!, 'close');
  expect(endings).toEqual([
    { closes: false, inImmediate: false },
    { closes: true, inImmediate: false },
  ]);
  sockets[0]!.destroy();
});

/** A connection that was answered once. */
async function connected(port: number, request: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.write(request);
  await once(socket, 'data');
  return socket;
}

test('a drain that begins within a cycle ends its connections outside of the immediate', async () => {
  const { port, endings } = listen('process', (redirect) => {
    redirect.isDraining = true;
  });
  const { text, closed } = await sendRaw(port, [`${head}\r\n`]);
  expect([/^Connection: close\r$/m.test(text), closed]).toEqual([true, true]);
  expect(endings).toEqual([{ closes: false, inImmediate: false }]);
});
