/** Messages over a socket: whole, in order and bounded, whatever comes in whatever pieces. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Channel } from '../../../src/app/upgrade/channel.ts';
import { lineOf } from '../../../src/app/upgrade/messages.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';
import { collectLog, type TestLog } from './conversation.ts';

let server: Server;
let far: Socket;
let told: TestLog;
let channel: Channel;

beforeEach(async () => {
  const path = join(temporaryFolder(), 'socket');
  server = createServer().listen(path);
  await once(server, 'listening');
  const near = connect(path);
  [far] = await once(server, 'connection');
  told = collectLog();
  channel = new Channel(near, told.log, 1_000);
});
afterEach(async () => {
  channel.destroy();
  far.destroy();
  await new Promise((done) => server.close(done));
});

test('messages come whole and in order, in whatever pieces', async () => {
  const lines = ['a b', 'é', '\u2028'].map((value) => lineOf({ type: 'progress', value }));
  for (const byte of Buffer.from(`${lines.join('')}{"type":"re`)) {
    far.write(Uint8Array.of(byte));
    await new Promise((done) => setImmediate(done));
  }
  for (const value of ['a b', 'é', '\u2028']) {
    expect(await channel.receive(['progress'])).toEqual({ type: 'progress', value });
  }
  expect(await channel.receive(['progress'], 20)).toBe('late');
  far.write('ady"}\n');
  expect(await channel.receive(['ready'])).toEqual({ type: 'ready' });
});

test.each([
  'x',
  '"ready"',
  '{"type":"hello"}',
  '{"type":"toString"}',
  '{"type":"refused"}',
  '{"type":"accepted","release":"1","pid":1,"journals":[0,"1"],"ports":[]}',
  '{"type":"failed","code":null,"detail":"","faults":[{"path":""}]}',
  '['.repeat(900),
])('a line that is no message, and a message of another type, are skipped: %s', async (line) => {
  far.write(`${line}\n\n{"type":"yielded"}\n{"type":"ready"}\n`);
  expect(await channel.receive(['ready'])).toEqual({ type: 'ready' });
  const warning = 'warn: unexpected message from another process';
  expect(told.lines).toEqual([
    `${warning}: a line of ${line.length} characters`,
    `${warning}: a line of 0 characters`,
    `${warning}: yielded, expected ready`,
  ]);
});

test.each([
  ['a line without end', 'x'.repeat(1_001)],
  ['messages that nobody waits for', '{"type":"ready"}\n'.repeat(10_001)],
])('%s ends the connection', async (_name, text) => {
  far.on('error', () => undefined);
  far.write(text);
  await channel.closed;
  expect(channel.isClosed).toBe(true);
});

test('the other side does not read: beyond the bound the connection is ended', async () => {
  far.pause();
  const message = { type: 'refused', reason: 'x'.repeat(50_000_000) } as const;
  channel.send(message);
  channel.send(message);
  expect(channel.isClosed).toBe(false);
  channel.send(message);
  await channel.closed;
});

test('the other side is killed while it is written to: no error is left over', async () => {
  far.destroy();
  for (let sent = 0; sent < 100; sent++) channel.send({ type: 'progress', value: sent });
  await channel.closed;
  expect(await channel.receive(['ready'])).toBe('gone');
});
