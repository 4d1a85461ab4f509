/**
 * A redirect thread that dies takes neither the process nor connections with it: its listen socket
 * closes with it, its successor listens, every journaled scan stays.
 */
import { connect } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { linkOf } from '../links/table.ts';
import { soon } from '../support/soon.ts';
import { type RedirectHarness, startRedirects } from './redirect-harness.ts';

const connections = 60;
/** For 60 connections at once on a busy machine; a socket that its thread took with it is never answered. */
const answerMsMax = 100_000;
let harness: RedirectHarness | undefined;
afterEach(async () => harness?.close());

/** One connection, one request; the status, or what went wrong. */
async function visit(port: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const end = (result: string): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(result);
    };
    const timer = setTimeout(() => end('no answer'), answerMsMax);
    socket.once('data', (bytes) => end(bytes.toString('latin1').slice(9, 12)));
    socket.once('error', (error) => end(error.message));
    socket.once('close', () => end('closed'));
    socket.write('GET /ABCD2345 HTTP/1.1\r\nHost: x\r\n\r\n');
  });
}

async function visitMany(port: number): Promise<Record<string, number>> {
  const results = await Promise.all(Array.from({ length: connections }, () => visit(port)));
  const counts: Record<string, number> = {};
  for (const result of results) counts[result] = (counts[result] ?? 0) + 1;
  return counts;
}

it('answers all when a thread dies, whichever way', async () => {
  harness = await startRedirects({
    threads: 2,
    file: new URL('./mortal-redirect.worker.ts', import.meta.url),
  });
  harness.links.put(linkOf('ABCD2345'));
  expect(await visitMany(harness.port)).toEqual({ 302: connections });
  for (const [index, end] of ['throw', 'reject', 'exit'].entries()) {
    harness.send(index % 2, { kind: end });
    await expect.poll(() => harness?.deaths().length, { ...soon, interval: 5 }).toBe(index + 1);
    expect(await visitMany(harness.port)).toEqual({ 302: connections });
    await expect.poll(() => harness?.areListening(), soon).toBe(true);
    expect(await visitMany(harness.port)).toEqual({ 302: connections });
  }
  await harness.drain();
  expect(harness.stopped().length).toBe(2);
  expect(harness.scans().length).toBe(7 * connections);
});
