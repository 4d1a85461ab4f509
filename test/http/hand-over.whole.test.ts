/** Redirect threads that hand over to those of another process. */
import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { linkOf } from '../links/table.ts';
import { soon } from '../support/soon.ts';
import {
  type RedirectHarness,
  type RedirectHarnessOptions,
  startRedirects,
} from './redirect-harness.ts';

const phone = 'User-Agent: Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Safari/604.1';
let harness: RedirectHarness;

async function start(options: RedirectHarnessOptions = {}): Promise<RedirectHarness> {
  harness = await startRedirects(options);
  harness.links.put(linkOf('ABCD2345', { codeNo: 11 }));
  return harness;
}

const request = (path: string, method = 'GET'): string =>
  `${method} ${path} HTTP/1.1\r\nHost: x\r\n${phone}\r\n\r\n`;
/** What was written as UTF-8, read as bytes. */
const asSent = (text: string): string => Buffer.from(text).toString('latin1');

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

afterEach(async () => harness.close());

test('nothing listens, and open connections are sent to new ones without a scan', async () => {
  const { redirects, scans } = await start({ threads: 2, othersJournals: [0, 2] });
  const sockets = [await connected(), await connected(), await connected()];
  for (let index = 0; index < 2; index++) sockets.push(await connected());
  await redirects.handOver();
  expect([harness.areListening(), await isListened()]).toEqual([false, false]);
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
    socket.write(request(path, method));
    await closed;
    expect(text).toMatch(/^HTTP\/1.1 302 Found\r\n/);
    expect(text.match(/^Location: .*$/m)?.[0]).toBe(`Location: ${asSent(location)}`);
    expect(text.match(/^Connection: close\r$/gm)?.length).toBe(1);
    expect(text).toMatch(/^Cache-Control: private, no-store\r$/m);
  }
  expect(scans()).toHaveLength(5);
  await harness.drain();
  expect(harness.stopped().length).toBe(2);
});

test('what was asked for in the cycle of the hand-over is answered and journaled', async () => {
  const { redirects, scans } = await start();
  const socket = await connected();
  const answers: string[] = [];
  socket.on('data', (data: Buffer) => answers.push(String(data)));
  socket.write(request('/ABCD2345').repeat(20));
  await redirects.handOver();
  await expect.poll(() => socket.closed, soon).toBe(true);
  const targets = answers.join('').match(/^Location: https:/gm)?.length ?? 0;
  expect(scans()).toHaveLength(1 + targets);
});

test('a thread that dies meanwhile does not listen again', async () => {
  const { redirects } = await start({
    threads: 2,
    file: new URL('./mortal-redirect.worker.ts', import.meta.url),
  });
  const socket = await connected();
  const closed = once(socket, 'close');
  await redirects.handOver();
  for (const thread of [0, 1]) harness.send(thread, { kind: 'exit' });
  await closed;
  await expect.poll(() => harness.deaths().length, soon).toBe(2);
  // Those that were started since say so too.
  await redirects.handOver();
  expect(await isListened()).toBe(false);
});
