/** A service that was asked to yield, and has to go on, is what it was before. */
import { execFileSync } from 'node:child_process';
import { renameSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openDataFolder } from '../../../src/engine/data-folder.ts';
import { PredecessorConnection } from '../../../src/engine/takeover/predecessor-connection.ts';
import { deliveryVersion } from '../../../src/store/delivery/open-delivery.ts';
import { managementVersion } from '../../../src/store/management/management.ts';
import { scansVersion } from '../../../src/store/scans/scans.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { Client } from '../../support/client.ts';
import {
  freePorts,
  type ServiceProcess,
  settingsOf,
  startProcess,
  withDataFolder,
} from '../../support/process.ts';
import { startProgram } from '../../support/program.ts';
import { soon } from '../../support/soon.ts';

/** LMDB's two meta pages: the rest of the file, and every other one, does not grow. */
const metaBytes = 8_192;
const person = { headers: { 'user-agent': 'Mozilla/5.0 (iPhone)' } };

/** A successor that says what it should, and never serves. */
async function successorOf(dataDir: string): Promise<PredecessorConnection> {
  const dataVersions = {
    management: managementVersion.version,
    scans: scansVersion.version,
    delivery: deliveryVersion.version,
  };
  const hello = { release: '1.0.0', dataVersions };
  const log = createLog('fatal', process.stderr);
  const predecessor = await PredecessorConnection.find(openDataFolder(dataDir), hello, log);
  if (predecessor === undefined) throw new Error('no service to take over from');
  return predecessor;
}

async function isReady({ apiUrl }: ServiceProcess): Promise<boolean> {
  const answer = await fetch(`${apiUrl}/health/ready`).catch(() => undefined);
  return answer?.status === 200;
}

test('taken back after a yield: it is ready, the next one may come, and the folder may be away meanwhile', () =>
  withDataFolder(async (dataDir) => {
    const service = await startProcess({ dataDir, ports: await freePorts() });
    const first = await successorOf(dataDir);
    await first.yield();
    first.close();
    await service.waitForLog(/taken back from the successor,/, 20_000);
    expect(await isReady(service)).toBe(true);
    const second = await successorOf(dataDir);
    await second.yield();
    // Nothing is opened by its path while the folder is away.
    renameSync(dataDir, `${dataDir}-away`);
    second.close();
    await service.waitForLog(/moved away or unmounted/, 20_000);
    renameSync(`${dataDir}-away`, dataDir);
    await expect.poll(() => isReady(service), soon).toBe(true);
    expect(await service.terminate()).toMatchObject({ code: 0, signal: null });
  }));

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
    const successor = await successorOf(dataDir);
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
    await client.close();
    await links.close();
    expect(await service.terminate()).toMatchObject({ code: 0, signal: null });
  }));

test('a takeover from one whose own predecessor still answers is refused', () =>
  withDataFolder(async (dataDir) => {
    const ports = await freePorts();
    const first = await startProcess({ dataDir, ports });
    // It closes a connection that asks for nothing after 8 s, and a successor may boot for longer.
    const phones: Socket[] = [];
    const callAgain = (): void => {
      const phone = connect(ports.redirect, '127.0.0.1');
      phone.on('error', () => undefined);
      phones.push(phone);
    };
    const calls = setInterval(callAgain, 250);
    onTestFinished(() => clearInterval(calls));
    const environment = settingsOf({ dataDir, ports });
    const start = () =>
      startProgram(['serve', '--takeover'], { environment, stdio: ['ignore', 'pipe', 'pipe'] });
    const second = await startProcess({ dataDir, ports, start });
    const refusal = /^Cannot take over: .* still answers open connections; try again/;
    await expect(successorOf(dataDir)).rejects.toThrow(refusal);
    clearInterval(calls);
    for (const phone of phones) phone.destroy();
    expect(await first.exit).toEqual({ code: 0, signal: null });
    expect(await isReady(second)).toBe(true);
    expect(await second.terminate()).toMatchObject({ code: 0, signal: null });
  }));

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new Error('not a text');
  return value;
}
