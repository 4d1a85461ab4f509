/** A service that was asked to yield, and has to go on, is what it was before. */
import { execFileSync } from 'node:child_process';
import { expect, test, vi } from 'vitest';
import { Client } from '../../support/client.ts';
import {
  freePorts,
  type ServiceProcess,
  startProcess,
  withDataFolder,
} from '../../support/process.ts';
import { soon } from '../../support/soon.ts';
import { findPredecessor } from './successor.ts';

/** LMDB's two meta pages: the rest of the file, and every other one, does not grow. */
const metaBytes = 8_192;
const person = { headers: { 'user-agent': 'Mozilla/5.0 (iPhone)' } };

async function isReady({ apiUrl }: ServiceProcess): Promise<boolean> {
  const answer = await fetch(`${apiUrl}/health/ready`).catch(() => undefined);
  return answer?.status === 200;
}

test('a disk that is full when it has to yield: it goes on, and counts each scan once', () =>
  withDataFolder(async (dataDir) => {
    const service = await startProcess({ dataDir, ports: await freePorts() });
    const client = new Client(service.apiUrl, service.apiKey);
    const links = new Client(`http://127.0.0.1:${service.ports.redirect}`);
    const limitFiles = (bytes: string): void =>
      void execFileSync('prlimit', ['--pid', String(service.pid), `--fsize=${bytes}:`]);
    const made = { body: { target: 'https://example.com/' } };
    const { json: code } = await client.call('POST', '/v1/qr-codes', made);
    const { id, shortUrl } = code;
    const path = new URL(textOf(shortUrl)).pathname;
    const successor = await findPredecessor(dataDir);
    limitFiles(String(metaBytes));
    // The use of its key is stored by the yield at the latest.
    expect((await client.call('GET', '/v1/qr-codes')).status).toBe(200);
    await expect(successor.yield()).rejects.toThrow('no space left');
    await service.waitForLog(/taken back from the successor,/, 20_000);
    limitFiles('unlimited');
    for (let scans = 0; scans < 3; scans += 1) {
      expect((await links.call('GET', path, person)).status).toBe(302);
    }
    await vi.waitFor(async () => {
      expect(await isReady(service)).toBe(true);
      expect((await client.call('POST', '/v1/qr-codes', made)).status).toBe(201);
      const { json } = await client.call('GET', `/v1/qr-codes/${textOf(id)}/analytics`);
      expect(json['totalScans']).toBe(3);
    }, soon);
    // The next one may come, and it goes on again when that one is gone.
    const next = await findPredecessor(dataDir);
    await next.yield();
    next.close();
    await service.waitForLog(/(taken back from the successor,[^]*){2}/, 20_000);
    expect(await isReady(service)).toBe(true);
    await client.close();
    await links.close();
    expect(await service.terminate()).toMatchObject({ code: 0, signal: null });
  }));

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new Error('not a text');
  return value;
}
