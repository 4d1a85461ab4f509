/** Redirect threads that hand over to those of another process, and take back. */
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { linkOf } from '../links/table.ts';
import { sendRaw } from '../support/raw-http.ts';
import { soon } from '../support/soon.ts';
import {
  type RedirectHarness,
  type RedirectHarnessOptions,
  startRedirects,
} from './redirect-harness.ts';

const phone = 'User-Agent: Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Safari/604.1';
/** Longer than any wait of these tests: what ends before was not cut off. */
const longMs = 60_000;
let harness: RedirectHarness;

async function start(options: RedirectHarnessOptions = {}): Promise<RedirectHarness> {
  harness = await startRedirects(options);
  harness.links.put(linkOf('ABCD2345', { codeNo: 11 }));
  return harness;
}

const request = (path: string, method = 'GET', more = ''): string =>
  `${method} ${path} HTTP/1.1\r\nHost: x\r\n${phone}\r\n${more}\r\n`;
/** As `sendRaw` reads what was written as UTF-8. */
const asSent = (text: string): string => Buffer.from(text).toString('latin1');
const closing = 'Connection: close\r\n';

async function statusOf(path: string): Promise<string> {
  const { text } = await sendRaw(harness.port, [request(path, 'GET', closing)]);
  return text.slice(9, 12);
}

/** A connection that was answered once and goes on. */
async function connected(): Promise<Socket> {
  const socket = connect(harness.port, '127.0.0.1');
  socket.write(request('/ABCD2345'));
  await once(socket, 'data');
  return socket;
}

async function isListened(): Promise<boolean> {
  const socket = connect(harness.port, '127.0.0.1');
  const listened = await new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
  });
  socket.destroy();
  return listened;
}

describe('hand over', () => {
  afterEach(async () => harness.close());

  test('nothing listens, what is open is answered and closed, and the journal goes on', async () => {
    const { redirects, scans } = await start({ threads: 2, othersJournals: [0, 2] });
    const socket = await connected();
    let isOver = false;
    const over = redirects.handOver(longMs).then(() => void (isOver = true));
    await expect.poll(isListened, soon).toBe(false);
    expect(isOver).toBe(false);
    socket.write(request('/ABCD2345'));
    const [answer] = await once(socket, 'data');
    expect(String(answer)).toMatch(/^HTTP\/1.1 302 [^]*Connection: close\r\n/);
    await over;
    expect(harness.areListening()).toBe(false);
    expect(scans().map(({ codeNo }) => codeNo)).toEqual([11, 11]);
    await harness.drain();
    expect(harness.stopped().length).toBe(2);
  });

  test('what was handed over is taken back', async () => {
    const { redirects, scans } = await start({ threads: 2 });
    const closed = once(await connected(), 'close');
    await redirects.handOver(50);
    // A connection that stays open is closed.
    await closed;
    expect(await isListened()).toBe(false);
    await redirects.resume();
    expect(harness.areListening()).toBe(true);
    expect(await statusOf('/ABCD2345')).toBe('302');
    expect(scans().length).toBe(2);
    await redirects.handOver(longMs);
    await redirects.resume();
    expect(await statusOf('/ABCD2345')).toBe('302');
    // Before it ends, too.
    const socket = await connected();
    const over = redirects.handOver(longMs);
    await redirects.resume();
    expect(await statusOf('/ABCD2345')).toBe('302');
    await over;
    expect([harness.areListening(), await isListened()]).toEqual([true, true]);
    socket.destroy();
  });

  test('a thread that dies meanwhile listens again only when all is taken back', async () => {
    const { redirects } = await start({
      threads: 2,
      file: new URL('./mortal-redirect.worker.ts', import.meta.url),
    });
    const socket = await connected();
    const closed = once(socket, 'close');
    const over = redirects.handOver(longMs);
    for (const thread of [0, 1]) harness.send(thread, { kind: 'exit' });
    await over;
    await closed;
    await expect.poll(() => harness.deaths().length, soon).toBe(2);
    // Those that were started since say so too.
    await redirects.handOver(longMs);
    expect(await isListened()).toBe(false);
    await redirects.resume();
    expect(await statusOf('/ABCD2345')).toBe('302');
  });
});

describe('a limited link whose scans another process has', () => {
  beforeAll(async () => {
    const { redirects } = await start();
    redirects.freezeLimits();
  });
  afterAll(async () => harness.close());

  const putLimited = (): void =>
    harness.links.put(linkOf('LIMITED2', { codeNo: 12, scansLeft: 2 }));

  test.each([
    ['/LIMITED2', 'GET'],
    ['/LIMITED2', 'HEAD'],
    ['/limited2?a=1&b=%0d%0aX:%20y&c=%C3%A4', 'GET'],
    ['/%4CIMITED2?', 'GET'],
    ['/LIMITED2?\u00e4', 'GET'],
  ])('sends back to %s, %s', async (path, method) => {
    const { links, scans } = harness;
    const before = scans().length;
    putLimited();
    expect(await statusOf('/LIMITED2')).toBe('302');
    expect(links.takeScansLeft('LIMITED2')).toBe(1);
    for (const more of ['', closing, 'Content-Length: 0\r\n']) {
      const { text, closed } = await sendRaw(harness.port, [request(path, method, more)]);
      expect(text).toMatch(/^HTTP\/1.1 302 Found\r\n/);
      expect(text.match(/^Location: .*$/m)?.[0]).toBe(`Location: ${asSent(path)}`);
      expect(text.match(/^Connection: close\r$/gm)?.length).toBe(1);
      expect(text).toMatch(/^Cache-Control: private, no-store\r$/m);
      expect([text.endsWith('\r\n\r\n'), closed]).toEqual([true, true]);
    }
    expect(await statusOf('/ABCD2345')).toBe('302');
    const made = scans().slice(before);
    expect(made.map(({ codeNo }) => codeNo)).toEqual([12, 11]);
  });

  test('a client that leaves meanwhile, and one that asks twice at once, do no harm', async () => {
    putLimited();
    harness.links.takeScansLeft('LIMITED2');
    const socket = connect(harness.port, '127.0.0.1');
    socket.write(request('/LIMITED2'));
    await once(socket, 'connect');
    socket.destroy();
    await sendRaw(harness.port, [request('/LIMITED2') + request('/LIMITED2')]);
    expect(await statusOf('/LIMITED2')).toBe('302');
    expect(harness.deaths()).toEqual([]);
  });

  test('is gone where it is over for another reason, and has its limit again when it is taken back', async () => {
    const { redirects, links } = harness;
    putLimited();
    links.put(linkOf('EXPIRED2', { codeNo: 13, expiresAtMs: 1, scansLeft: 0 }));
    links.delete('DELETED2');
    expect([await statusOf('/EXPIRED2'), await statusOf('/DELETED2')]).toEqual(['410', '410']);
    const left = links.takeScansLeft('LIMITED2') ?? 0;
    expect(await statusOf('/LIMITED2')).toBe('302');
    links.addScans('LIMITED2', left);
    await redirects.resume();
    const statuses: string[] = [];
    for (let visit = 0; visit < 3; visit++) statuses.push(await statusOf('/LIMITED2'));
    expect(statuses).toEqual(['302', '302', '410']);
  });
});
