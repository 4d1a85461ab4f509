/** Lines over a socket: whole, in order and bounded, whatever comes in whatever pieces. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Channel } from '../../../src/engine/takeover/channel.ts';
import type { PredecessorMessage } from '../../../src/engine/takeover/messages.ts';
import { soon } from '../../support/soon.ts';

let folder: string;
let server: Server;
let near: Socket;
let far: Socket;
let received: string[];
let channel: Channel<string, PredecessorMessage>;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quietzone-channel-'));
  server = createServer().listen(join(folder, 'socket'));
  await once(server, 'listening');
  near = connect(join(folder, 'socket'));
  [far] = await once(server, 'connection');
  received = [];
  channel = new Channel(near, {
    parse: (line) => (line === 'bad' ? undefined : line),
    lineBytesMax: 10,
    onMessage: (message) => received.push(message),
    onFault: (fault) => received.push(`(${fault})`),
  });
});
afterEach(async () => {
  near.destroy();
  far.destroy();
  await new Promise((done) => server.close(done));
  rmSync(folder, { recursive: true, force: true });
});

test('lines come whole and in order, in whatever pieces', async () => {
  for (const byte of Buffer.from('ab\nc d\né\n\nbad\nlast\nhalf')) {
    far.write(Uint8Array.of(byte));
    await new Promise((done) => setImmediate(done));
  }
  await expect
    .poll(() => received, soon)
    .toEqual(['ab', 'c d', 'é', '', '(no message, of 3 characters)', 'last']);
});

test('a line that is too long is dropped to its end, and the next one is read', async () => {
  far.write(`1234567890\n12345678901\n${'x'.repeat(1_000_000)}\nnext\n`);
  const fault = '(a line of more than 10 bytes)';
  await expect.poll(() => received, soon).toEqual(['1234567890', fault, fault, 'next']);
});

test('the other side does not read: beyond the bound the connection is ended', async () => {
  far.pause();
  const message: PredecessorMessage = { type: 'refused', reason: 'x'.repeat(50_000_000) };
  channel.send(message);
  channel.send(message);
  expect(near.destroyed).toBe(false);
  channel.send(message);
  await channel.closed;
});

test('the other side is killed while it is written to: no error is left over', async () => {
  far.destroy();
  for (let sent = 0; sent < 100; sent++) channel.send({ type: 'progress', value: sent });
  await channel.closed;
  expect(received).toEqual([]);
});
