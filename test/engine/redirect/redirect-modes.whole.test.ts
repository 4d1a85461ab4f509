/** The redirect by its settings: durability, proxies, throttle, limits; the drain under load, and the hand-over. */
import { once } from 'node:events';
import { request as httpRequest, Agent } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { missedRoutes } from '../../../src/model/routing/labels.ts';
import { plainTarget, routedLink, targetOf } from '../links/routed.ts';
import { linkOf } from '../links/table.ts';
import { sendRaw } from '../../support/raw-http.ts';
import { soon } from '../../support/soon.ts';
import {
  agents,
  type RedirectHarness,
  type RedirectHarnessOptions,
  startRedirects,
} from './redirect-harness.ts';
import { connected } from '../../api/server/test-server.ts';

const phone = agents.pixel;
let harness: RedirectHarness | undefined;
afterEach(async () => harness?.close());

async function start(options: RedirectHarnessOptions = {}): Promise<RedirectHarness> {
  harness = await startRedirects(options);
  harness.links.put(linkOf('ABCD2345', { codeNo: 11 }));
  return harness;
}

const get = (headers = '', path = '/ABCD2345'): string =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n`;

async function visit(port: number, agent: Agent, path: string, userAgent = '') {
  type Visit = { status: number; closes: boolean; location: string | undefined };
  return await new Promise<Visit>((resolve, reject) => {
    const headers = userAgent === '' ? {} : { 'user-agent': userAgent };
    const sent = httpRequest({ host: '127.0.0.1', port, path, agent, headers }, (answer) => {
      answer.resume();
      const { connection, location } = answer.headers;
      const closes = connection === 'close';
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, closes, location }));
    });
    sent.once('error', reject);
    sent.end();
  });
}

describe.each(['process', 'power'] as const)('with durability %s', (durability) => {
  const to = (label: string) => ({
    label,
    if: { query: { to: label } },
    then: { target: `${targetOf(label)}?to=${label}` },
  });
  const byQuery = { passQuery: true, rules: ['a', 'b'].map(to) };

  it('each is answered as itself in a batch of rules, queries, plain codes, pages and resets', async () => {
    const { port, links, scans, deaths } = await start({ durability, threads: 2 });
    links.put(routedLink('ROUTED23', byQuery, { codeNo: 12 }));
    links.put(routedLink('PAUSED23', { paused: true }, { codeNo: 13 }));
    links.put(routedLink('RESET234', byQuery, { codeNo: 14 }));
    const agent = new Agent({ keepAlive: true, maxSockets: 20 });
    const visits = Array.from({ length: 120 }, async (_, no) => {
      const label = ['a', 'b', 'c'][no % 3]!;
      const target = label === 'c' ? plainTarget : targetOf(label);
      const query = `?to=${label}&no=${no}`;
      // It leaves while its answer waits for the journal.
      void sendRaw(port, ['GET /RESET234?to=a HTTP/1.1\r\nHost: x\r\n\r\n'], 1);
      const { location } = await visit(port, agent, `/ROUTED23${query}`, phone);
      expect(location).toBe(`${target}${query}`);
    });
    const others = Array.from({ length: 10 }, async () => {
      expect((await visit(port, agent, '/PAUSED23', phone)).status).toBe(410);
      expect((await visit(port, agent, '/ABCD2345')).location).toBe('https://example.com/');
    });
    await Promise.all([...visits, ...others]);
    agent.destroy();
    const counted = (): Record<string, number> => {
      const kept = scans().filter(({ codeNo }) => codeNo !== 14);
      const groups = Object.groupBy(kept, ({ codeNo, route }) => `${codeNo} ${route}`);
      return Object.fromEntries(Object.entries(groups).map(([key, some]) => [key, some!.length]));
    };
    const wanted = { '11 0': 10, '12 0': 40, '12 1': 40, '12 2': 40 };
    await expect.poll(counted, soon).toEqual({ ...wanted, [`13 ${missedRoutes.paused}`]: 10 });
    expect(deaths()).toEqual([]);
  });

  it('connections are closed with one header that says so, or go on', async () => {
    const { port, links } = await start({ durability });
    for (const [fields, status] of [
      [byQuery, 302],
      [{ paused: true, fallbackUrl: targetOf('fallback') }, 302],
      [{ paused: true }, 410],
    ] as const) {
      links.put(routedLink('ROUTED23', fields, { codeNo: 12 }));
      for (const [method, asked] of [
        ['GET', 'TE, close'],
        ['HEAD', 'close'],
      ] as const) {
        const ask = (more: string): string =>
          `${method} /ROUTED23?to=a HTTP/1.1\r\nHost: x\r\n${more}\r\n`;
        const kept = await sendRaw(port, [ask('Connection: keep-alive\r\n')]);
        expect([kept.statuses, kept.closed]).toEqual([[status], false]);
        expect(kept.text).not.toMatch(/^Connection/im);
        for (const more of [`Connection: ${asked}\r\n`, 'Content-Length: 0\r\n']) {
          const { text, statuses, closed } = await sendRaw(port, [ask(more)]);
          expect([more, statuses, closed]).toEqual([more, [status], true]);
          expect(text.match(/^Connection: close\r$/gim)).toHaveLength(1);
          expect(text.match(/^Location: /gm)?.length ?? 0).toBe(status === 302 ? 1 : 0);
        }
      }
    }
  });
});

it('scan limits are not used by bots and connections that are cut off', async () => {
  const { port, links, scans } = await start({});
  links.put(linkOf('LIMITED1', { codeNo: 12, scansLeft: 1 }));
  const agent = new Agent();
  const statusOf = async (userAgent: string): Promise<number> =>
    (await visit(port, agent, '/limited1', userAgent)).status;
  const bot = agents.google;
  expect(await statusOf(bot)).toBe(302);
  const pipelined = `GET /LIMITED1 HTTP/1.1\r\nHost: x\r\nUser-Agent: ${phone}\r\n\r\n`.repeat(2);
  expect((await sendRaw(port, [pipelined])).statuses).toEqual([]);
  expect([await statusOf(phone), await statusOf(phone), await statusOf(bot)]).toEqual([
    302, 410, 410,
  ]);
  expect(scans().map(({ codeNo }) => codeNo)).toEqual([12, 12]);
});

it('the throttle refuses unknown codes beyond the bound across threads, and no code that exists', async () => {
  // It counts by the clock's minute: a run that sees two of them is repeated.
  for (let minute = -1; minute !== minuteNow();) {
    await harness?.close();
    minute = minuteNow();
    const { port } = await start({ threads: 2 });
    const agent = new Agent({ maxSockets: 4 });
    const answers: number[] = [];
    // However it is written: nobody tries codes by encoding or by segments.
    const forms = ['/NOSUCH', '/%4EOSUCH', '/no/such/'];
    for (let i = 0; i < 320; i++) {
      answers.push((await visit(port, agent, `${forms[i % 3]}${i}`)).status);
    }
    const known = await visit(port, agent, '/ABCD2345');
    const icon = await visit(port, agent, '/favicon.ico');
    const { text } = await sendRaw(port, [get('', '/NOSUCH99')]);
    agent.destroy();
    if (minute !== minuteNow()) continue;
    expect(answers).toEqual(Array.from({ length: 320 }, (_, at) => (at < 300 ? 404 : 429)));
    expect([known.status, icon.status]).toEqual([302, 404]);
    expect(text).toMatch(/^HTTP\/1\.1 429 /);
    expect(text).toMatch(/Retry-After: ([1-9]|[1-5]\d|60)\r\n/);
  }
});

const minuteNow = (): number => Math.floor(Date.now() / 60_000);

describe('trusted proxies', () => {
  const mapped = (hex: string): string => `00000000000000000000ffff${hex}`;
  /** PROXY protocol, version 2, TCP over IPv4 or IPv6. */
  const proxyV2 = (source: readonly number[]): Buffer => {
    const size = source.length * 2 + 4;
    const family = source.length === 4 ? 0x11 : 0x21;
    return Buffer.from([
      ...Buffer.from('0d0a0d0a000d0a515549540a21', 'hex'),
      family,
      0,
      size,
      ...source,
      ...source.map(() => 1),
      ...Buffer.from('30390050', 'hex'),
    ]);
  };
  const ipv6 = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];

  const both = Buffer.concat([
    proxyV2([203, 0, 113, 9]),
    Buffer.from(get('X-Forwarded-For: 198.51.100.7\r\n')),
  ]);

  it('name the client in X-Forwarded-For and in the PROXY protocol', async () => {
    const forwarded: Readonly<Record<string, string>> = {
      '203.0.113.9': mapped('cb007109'),
      '6.6.6.6, 203.0.113.9': mapped('cb007109'),
      '6.6.6.6, 203.0.113.9, 127.0.0.2': mapped('cb007109'),
      '2001:db8::9': '20010db8000000000000000000000009',
      '[2001:db8::9]:443': '20010db8000000000000000000000009',
      '::ffff:203.0.113.9': mapped('cb007109'),
      nonsense: mapped('7f000001'),
      '': mapped('7f000001'),
    };
    const { port, scans } = await start({ trustedProxies: ['127.0.0.0/8'] });
    for (const list of Object.keys(forwarded)) {
      await sendRaw(port, [get(`X-Forwarded-For: ${list}\r\n`)]);
    }
    await sendRaw(port, [Buffer.concat([proxyV2([203, 0, 113, 9]), Buffer.from(get())])]);
    await sendRaw(port, [Buffer.concat([proxyV2(ipv6), Buffer.from(get())])]);
    await sendRaw(port, [both]);
    const found = scans().map((scan) => scan.address);
    const proxied = [mapped('cb007109'), '20010db8000000000000000000000009', mapped('cb007109')];
    expect(found).toEqual([...Object.values(forwarded), ...proxied]);
  });

  it('are believed one by one: strangers beside them are not', async () => {
    const { port, scans } = await start({ trustedProxies: ['192.0.2.1'] });
    await sendRaw(port, [get('X-Forwarded-For: 203.0.113.9\r\n')]);
    await sendRaw(port, [Buffer.concat([proxyV2([203, 0, 113, 9]), Buffer.from(get())])]);
    expect(new Set(scans().map((scan) => scan.address))).toEqual(new Set([mapped('7f000001')]));
  });
});

it('a drain fails no request on an open connection, tells clients to close, keeps every scan', async () => {
  const { port, drain, scans, stopped } = await start({ threads: 2 });
  const agent = new Agent({ keepAlive: true, maxSockets: 10 });
  const answered = Array<number>(10).fill(0);
  let isDraining = false;
  const failures: string[] = [];
  const client = async (_: number, no: number): Promise<void> => {
    for (;;) {
      try {
        const { status, closes } = await visit(port, agent, '/ABCD2345');
        if (status === 302) answered[no]! += 1;
        else failures.push(String(status));
        if (closes) return;
      } catch (error) {
        // A new connection after the last listen socket is closed; never one that was open.
        if (!isDraining || !String(error).includes('ECONNREFUSED')) failures.push(String(error));
        return;
      }
    }
  };
  const clients = answered.map(client);
  // All are connected: a connection that is made meanwhile is not what this is about.
  await expect.poll(() => Math.min(...answered), soon).toBeGreaterThan(10);
  isDraining = true;
  await Promise.all([drain(), ...clients]);
  agent.destroy();
  expect(failures).toEqual([]);
  const all = answered.reduce((sum, answers) => sum + answers, 0);
  expect(scans().length).toBe(all);
  expect(stopped().reduce((sum, redirects) => sum + redirects, 0)).toBe(all);
});

const keeping = (path: string, method = 'GET'): string =>
  `${method} ${path} HTTP/1.1\r\nHost: x\r\nUser-Agent: ${phone}\r\n\r\n`;
/** What was written as UTF-8, read as bytes. */
const asSent = (text: string): string => Buffer.from(text).toString('latin1');

const answered = async (port: number): Promise<Socket> =>
  await connected(port, keeping('/ABCD2345'));

async function isListened(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const listened = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
  });
  socket.destroy();
  return listened;
}

describe('a hand-over to the threads of another process', () => {
  it('nothing listens, and open connections are sent to new ones without a scan', async () => {
    const { port, redirects, scans, areListening, drain, stopped } = await start({
      threads: 2,
      othersJournals: [0, 2],
    });
    const sockets: Socket[] = [];
    while (sockets.length < 5) sockets.push(await answered(port));
    await redirects.handOver();
    expect([areListening(), await isListened(port)]).toEqual([false, false]);
    expect(scans().map(({ codeNo }) => codeNo)).toEqual([11, 11, 11, 11, 11]);
    const asked = [
      ['/ABCD2345', 'GET'],
      ['/abcd2345?a=1&b=%0d%0aX:%20y&c=%C3%A4', 'GET'],
      ['/unknown99?\u00e4', 'HEAD'],
      // Never to another host.
      ['//other.example/a', 'GET', '/other.example/a'],
      ['/\\/other.example/a', 'GET', '/other.example/a'],
    ] as const;
    for (const [index, [path, method, location = path]] of asked.entries()) {
      const socket = sockets[index]!;
      const closed = once(socket, 'close');
      let text = '';
      socket.on('data', (data: Buffer) => (text += data.toString('latin1')));
      socket.write(keeping(path, method));
      await closed;
      expect(text).toMatch(/^HTTP\/1.1 302 Found\r\n/);
      expect(text.match(/^Location: .*$/m)?.[0]).toBe(`Location: ${asSent(location)}`);
      expect(text.match(/^Connection: close\r$/gm)?.length).toBe(1);
      expect(text).toMatch(/^Cache-Control: private, no-store\r$/m);
    }
    expect(scans()).toHaveLength(5);
    await drain();
    expect(stopped().length).toBe(2);
  });

  it('what was asked for in the cycle of the hand-over is answered and journaled', async () => {
    const { port, redirects, scans } = await start();
    const socket = await answered(port);
    const answers: string[] = [];
    socket.on('data', (data: Buffer) => answers.push(String(data)));
    socket.write(keeping('/ABCD2345').repeat(20));
    await redirects.handOver();
    await expect.poll(() => socket.closed, soon).toBe(true);
    const targets = answers.join('').match(/^Location: https:/gm)?.length ?? 0;
    expect(scans()).toHaveLength(1 + targets);
  });

  it('a thread that dies meanwhile does not listen again', async () => {
    const file = new URL('./mortal-redirect.worker.ts', import.meta.url);
    const mortal = await start({ threads: 2, file });
    const socket = await answered(mortal.port);
    const closed = once(socket, 'close');
    await mortal.redirects.handOver();
    for (const thread of [0, 1]) mortal.send(thread, { kind: 'exit' });
    await closed;
    await expect.poll(() => mortal.deaths().length, soon).toBe(2);
    // Those that were started since say so too.
    await mortal.redirects.handOver();
    expect(await isListened(mortal.port)).toBe(false);
  });
});
