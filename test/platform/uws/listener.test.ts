/** A bound of connections: idle ones are closed for those that ask, and nothing more is ever open. */
import { executionAsyncResource } from 'node:async_hooks';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import * as uWS from 'uWebSockets.js';
import type { TemplatedApp } from 'uWebSockets.js';
import { afterEach, describe, expect, it, test } from 'vitest';
import type { Config } from '../../../src/platform/config/config.ts';
import { ClientAddresses } from '../../../src/platform/uws/client-address.ts';
import { Listener } from '../../../src/platform/uws/listener.ts';
import { MissThrottle } from '../../../src/engine/redirect/miss-throttle.ts';
import { Pages } from '../../../src/engine/redirect/pages.ts';
import { Redirect } from '../../../src/engine/redirect/redirect.ts';
import { Refusals } from '../../../src/engine/redirect/refusals.ts';
import type { Handler, Reply, Request } from '../../../src/platform/uws/request.ts';
import { ScannerAddresses } from '../../../src/engine/redirect/scanner-address.ts';
import type { HttpServerOptions } from '../../../src/api/server/server.ts';
import { createApp } from '../../../src/platform/uws/uws-app.ts';
import { Geo } from '../../../src/engine/visitor/geo/geo.ts';
import { systemClock } from '../../../src/platform/system-clock.ts';
import { createLatencyHistogram } from '../../../src/platform/latency-histogram.ts';
import { linkOf, openTable } from '../../engine/links/table.ts';
import { temporaryJournal } from '../../engine/journal/journal-files.ts';
import { freePorts } from '../../support/process.ts';
import { sendRaw } from '../../support/raw-http.ts';
import { soon } from '../../support/soon.ts';
import { connected, openServer } from '../../api/server/test-server.ts';

const connectionsMax = 40;
const fixture = (name: string): string =>
  new URL(`../../fixtures/receiver-tls/${name}`, import.meta.url).pathname;
const ca = readFileSync(fixture('authority.pem'));
const tls = { tlsCertFile: fixture('certificate.pem'), tlsKeyFile: fixture('key.pem') };

/** `/wait` is answered when the test says so, everything else at once. */
class Slow implements Handler {
  readonly waiting = Promise.withResolvers<void>();
  async handle({ path }: Request): Promise<Reply> {
    if (path === '/wait') await this.waiting.promise;
    return { status: 200, headers: {}, body: `answer to ${path}` };
  }
  refuse(): Reply {
    return { status: 503, headers: {} };
  }
}

const ends: Array<() => void> = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

async function start(handler = new Slow(), more: Partial<HttpServerOptions> = {}) {
  // It listens anew, on the same port.
  const { api: port } = await freePorts();
  const server = await openServer(handler, { port, connectionsMax, ...more });
  ends.push(() => server.close());
  return server;
}

/** What one client gets on its connection until it is closed. */
class Client {
  readonly socket: Socket;
  received = '';
  isClosed = false;

  constructor(port: number, secure: 'plain' | 'tls' = 'plain') {
    this.socket =
      secure === 'tls'
        ? connectTls({ port, host: '127.0.0.1', ca, rejectUnauthorized: false })
        : connect(port, '127.0.0.1');
    this.socket.on('data', (text) => void (this.received += text.toString()));
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => void (this.isClosed = true));
    ends.push(() => this.socket.destroy());
  }

  get(path: string): void {
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
  }
}

/** Connections that ask for nothing and come back at once, until the test ends. */
function startCrowd(port: number, count: number): void {
  let isOver = false;
  ends.unshift(() => void (isOver = true));
  const come = (): void => {
    const client = new Client(port);
    client.socket.once('close', () => {
      if (!isOver) setTimeout(come, 1);
    });
  };
  for (let at = 0; at < count; at += 1) come();
}

/** Asks on a new connection. */
async function isAnswered(port: number, secure?: 'plain' | 'tls'): Promise<boolean> {
  const client = new Client(port, secure);
  client.get('/');
  await new Promise<void>((resolve) => {
    client.socket.once('data', () => resolve());
    client.socket.once('close', () => resolve());
  });
  client.socket.destroy();
  return client.received.includes('answer');
}

describe('leaving', () => {
  const attach = (app: TemplatedApp): void => {
    app.get('/*', (response) => void response.end('answer'));
  };
  const open = async (): Promise<Listener> => {
    const listener = new Listener({ host: '127.0.0.1', port: (await freePorts()).api, attach });
    ends.push(() => listener.close());
    await listen(listener);
    return listener;
  };
  const listen = async (listener: Listener): Promise<void> => {
    expect(await new Promise((resolve) => listener.listen(resolve))).toBe(true);
  };

  test.each([
    ['its clock', systemClock],
    ['no clock', undefined],
  ] as const)(
    'leaves no connection to the kernel that was made before, with %s',
    async (_, clock) => {
      const listener = await open();
      const clients = Array.from({ length: 50 }, () => new Client(listener.port));
      for (const client of clients) client.get('/');
      // Node connects in the next tick, and on the loopback the kernel makes the connection at once.
      await new Promise<void>((resolve) => process.nextTick(resolve));
      await listener.leave(clock);
      await expect.poll(() => clients.filter((one) => one.received !== '').length, soon).toBe(50);
      expect(await isAnswered(listener.port)).toBe(false);
    },
  );

  test('a busy loop leaves too, and one that listens again meanwhile stays', async () => {
    const listener = await open();
    let isBusy = true;
    const work = (): void => {
      const endMs = performance.now() + 1;
      while (performance.now() < endMs);
      if (isBusy) setImmediate(work);
    };
    work();
    const left = listener.leave(systemClock);
    await listen(listener);
    await left;
    isBusy = false;
    expect(await isAnswered(listener.port)).toBe(true);
    isBusy = true;
    work();
    await listener.leave(systemClock);
    isBusy = false;
    expect(await isAnswered(listener.port)).toBe(false);
    await listen(listener);
    expect(await isAnswered(listener.port)).toBe(true);
    const again = listener.leave(systemClock);
    listener.close();
    await again;
    expect(await isAnswered(listener.port)).toBe(false);
  });
});

describe('a listener with a bound of connections', () => {
  test('answers those who ask among idle ones that come back at once, and stays below its bound', async () => {
    const server = await start();
    startCrowd(server.port, 3 * connectionsMax);
    await expect.poll(() => server.shed, soon).toBeGreaterThan(10 * connectionsMax);
    let open = 0;
    for (let answers = 0, tries = 0; answers < 10; tries += 1) {
      expect(tries).toBeLessThan(1_000);
      if (await isAnswered(server.port)) answers += 1;
      open = Math.max(open, server.connections);
    }
    expect(open).toBeLessThanOrEqual(connectionsMax);
  });

  test('closes nobody below half of its bound, and no request in flight for another connection', async () => {
    const handler = new Slow();
    const server = await start(handler);
    const waiting = new Client(server.port);
    waiting.get('/wait');
    await expect.poll(() => server.inFlight, soon).toBe(1);
    const idle: Client[] = [];
    const come = async (): Promise<void> => {
      const client = new Client(server.port);
      idle.push(client);
      await once(client.socket, 'connect');
    };
    while (server.connections < connectionsMax / 2 - 1) await come();
    expect([server.shed, idle.some(({ isClosed }) => isClosed)]).toEqual([0, false]);
    // Until both halves are full, and nobody else is let in.
    while (server.connections < connectionsMax || server.shed === 0) {
      expect(idle.length).toBeLessThan(20 * connectionsMax);
      await come().catch(() => undefined);
    }
    handler.waiting.resolve();
    await once(waiting.socket, 'data');
    expect(waiting.received).toContain('answer to /wait');
    // Now that nothing is in flight, its half is closed.
    await once(waiting.socket, 'close');
    expect(await isAnswered(server.port)).toBe(true);
  });

  test.each([
    ['plain', 3_000],
    ['tls', 400],
  ] as const)('survives it when very many connect at once (%s)', async (secure, count) => {
    const server = await start(new Slow(), secure === 'tls' ? { tls } : {});
    const clients = Array.from({ length: count }, () => new Client(server.port, secure));
    await expect.poll(() => server.shed, soon).toBeGreaterThan(0);
    await expect.poll(() => isAnswered(server.port, secure), soon).toBe(true);
    expect(server.connections).toBeLessThanOrEqual(connectionsMax);
    server.close();
    for (const { socket } of clients) socket.destroy();
    await expect.poll(() => server.connections, soon).toBe(0);
  });
});

/** What ends a connection: uSockets never frees what is closed in an immediate. */

/**
 * A redirect in this process.
 * @param afterRequest called in the cycle of each request, after it was taken
 * @returns its port; of each answer, whether its request asked for the end of its connection, and in which phase it ended
 */
function listen(
  durability: Config['durability'],
  afterRequest: (redirect: Redirect) => void = () => undefined,
) {
  const journal = temporaryJournal();
  const { writer, reader } = openTable();
  writer.put(linkOf('ABCD2345', { codeNo: 1 }));
  const addresses = new ScannerAddresses(new ClientAddresses([]));
  const redirect = new Redirect({
    links: reader,
    geo: new Geo({}),
    journal: journal.open(),
    durability,
    addresses,
    refusals: new Refusals(addresses, new MissThrottle(0), { pages: new Pages({}), rootUrl: '' }),
    clock: systemClock,
    latency: createLatencyHistogram(),
  });
  const endings: Array<{ readonly closes: boolean; readonly inImmediate: boolean }> = [];
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
    journal.remove();
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

test('a drain that begins within a cycle ends its connections outside of the immediate', async () => {
  const { port, endings } = listen('process', (redirect) => {
    redirect.isDraining = true;
  });
  const { text, closed } = await sendRaw(port, [`${head}\r\n`]);
  expect([/^Connection: close\r$/m.test(text), closed]).toEqual([true, true]);
  expect(endings).toEqual([{ closes: false, inImmediate: false }]);
});
