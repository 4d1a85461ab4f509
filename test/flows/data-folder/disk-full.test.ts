/**
 * The disk fills up under a running service: redirects keep answering, writes are refused with
 * storage_full, health and metrics say so; with space again all is well within seconds, and what was
 * answered is either counted or in the metrics as lost.
 *
 * `tmpfs` is a real small disk, where this user may mount one. Elsewhere `limit` lowers the file size limit of the
 * running process, so every write fails as on a full disk: any user may do that.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Client } from '../../support/client.ts';
import { liftQuota } from '../../support/lift-quota.ts';
import {
  freePorts,
  isWithin,
  pause,
  type ServiceProcess,
  startProcess,
  type TimeLimit,
  withDataFolder,
  readMetrics,
} from '../../support/process.ts';
import { fillDisk, mountSmallDisk, unmount } from './small-disk.ts';

const recoveryLimit: TimeLimit = { msMax: 5_000, loadings: 12 };
/** What is waited for comes at once or in the tick of a second. */
const untilMsMax = 40_000;
/** The smallest backlog that the configuration takes: about 400 scans in memory. */
const backlogBytes = 65_536;
const scansBefore = 40;
const scansWithout = 900;
const scansAfter = 20;
/** Fewer than the backlog takes: at the stop they are lost, but for what still fits into a journal's first pages. */
const scansLast = 200;
const stopMsMax = 15_000;

/** LMDB's two meta pages: a full disk takes what replaces blocks of a file. Without it a commit under way would end the service. */
const metaBytes = 8_192;

interface Disk {
  fill(): void;
  free(): void;
  close(): void;
}
type OpenDisk = (dataDir: string) => { disk: (service: ServiceProcess) => Disk };

const limited: OpenDisk = () => ({
  disk: (service) => ({
    fill: () => limitFileSize(service.pid, `${metaBytes}:`),
    free: () => limitFileSize(service.pid, 'unlimited:'),
    close: () => undefined,
  }),
});

const limitFileSize = (pid: number, limits: string): void =>
  void execFileSync('prlimit', ['--pid', String(pid), `--fsize=${limits}`]);

const mounted: OpenDisk = (dataDir) => {
  expect(mountSmallDisk(dataDir)).toBe(true);
  const filler = join(dataDir, 'filler');
  return {
    disk: () => ({
      fill: () => fillDisk(filler),
      free: () => rmSync(filler),
      close: () => unmount(dataDir),
    }),
  };
};

/** A mount needs a privilege that not every machine gives; the limit works everywhere. */
async function canMount(): Promise<boolean> {
  return await withDataFolder(async (folder) => {
    const isMounted = mountSmallDisk(folder);
    if (isMounted) unmount(folder);
    return isMounted;
  });
}

const { name, open } = (await canMount())
  ? { name: 'tmpfs', open: mounted }
  : { name: 'limit', open: limited };

it(
  `a full disk (${name}) stops no redirect and loses nothing in silence`,
  { timeout: 180_000 },
  () =>
    withDataFolder(async (parent) => {
      const dataDir = join(parent, 'data');
      mkdirSync(dataDir);
      const { disk: openFor } = open(dataDir);
      const service = await startProcess({
        dataDir,
        ports: await freePorts(),
        environment: { QZ_SCANS_BACKLOG_BYTES_MAX: String(backlogBytes), QZ_REDIRECT_THREADS: '1' },
      });
      await liftQuota(dataDir);
      const disk = openFor(service);
      const client = new Client(service.apiUrl, service.apiKey);
      const links = new Client(`http://127.0.0.1:${service.ports.redirect}`);
      try {
        await fillAndFree({ service, client, links, disk });
      } finally {
        await client.close();
        await links.close();
        await service.kill();
        disk.close();
      }
    }),
);

interface FullDisk {
  readonly service: ServiceProcess;
  readonly client: Client;
  readonly links: Client;
  readonly disk: Disk;
}

async function fillAndFree({ service, client, links, disk }: FullDisk): Promise<void> {
  const made = await create(client, 'full-1');
  expect(made.status).toBe(201);
  await scan(links, scansBefore);

  disk.fill();
  await scan(links, scansWithout);
  const refused = await create(client, 'full-2');
  expect([503, 507]).toContain(refused.status);
  expect(refused.json['code']).toBe('storage_full');
  await until(async () => {
    const { status, json } = await ready(client);
    return status === 503 && /cannot be written/.test(JSON.stringify(json['reasons']));
  });
  await until(async () => (await metric(service, 'quietzone_scans_waiting')) > 0);
  await until(async () => (await metric(service, 'quietzone_scans_dropped_total')) > 0);

  disk.free();
  const freedMs = performance.now();
  await until(async () => (await ready(client)).status === 200);
  expect((await create(client, 'full-3')).status).toBe(201);
  const recoveryMs = performance.now() - freedMs;
  expect([recoveryMs, await isWithin(recoveryMs, recoveryLimit)]).toEqual([recoveryMs, true]);

  await scan(links, scansAfter);
  const answered = scansBefore + scansWithout + scansAfter;
  const { id }: { id: string } = JSON.parse(made.text);
  const accounted = async (): Promise<number> => {
    const code = await client.call('GET', `/v1/qr-codes/${id}`);
    return Number(code.json['scans']) + (await metric(service, 'quietzone_scans_dropped_total'));
  };
  await until(async () => (await accounted()) === answered).catch(() => undefined);
  expect(await accounted()).toBe(answered);
  // The storage engine also writes lines of its own, which are no JSON: only ours are looked at.
  expect(service.stderr).not.toMatch(/"level":"fatal"/);
  expect(service.stderr.match(/"level":"error"/g)?.length ?? 0).toBeLessThan(20);

  disk.fill();
  await scan(links, scansLast);
  await expectStop(service);
}

/** On a full disk a stop ends in its time, and says what is lost. */
async function expectStop(service: ServiceProcess): Promise<void> {
  const { code, signal, ms } = await service.terminate();
  expect({ code, signal }).toEqual({ code: 1, signal: null });
  expect(ms).toBeLessThan(stopMsMax);
  const lost = Number(/"lostScans":(\d+)/.exec(service.stderr)?.[1]);
  expect(lost).toBeGreaterThan(scansLast / 2);
  expect(lost).toBeLessThanOrEqual(scansLast);
  const told = new RegExp(`${lost} answered scans are lost[^\\n]*stopped, but not cleanly`);
  expect(service.stderr).toMatch(told);
}

const create = (client: Client, slug: string) =>
  client.call('POST', '/v1/qr-codes', { body: { target: 'https://example.com/', slug } });

const ready = (client: Client) => client.call('GET', '/health/ready', { key: undefined });

async function scan(links: Client, times: number): Promise<void> {
  for (let at = 0; at < times; at++) {
    const { status } = await links.call('GET', '/full-1', {
      headers: { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:126.0) Firefox/126.0' },
    });
    expect(status).toBe(302);
  }
}

/** A metric's sum over its labels. */
async function metric({ apiUrl }: Pick<ServiceProcess, 'apiUrl'>, name: string): Promise<number> {
  const text = await readMetrics(apiUrl);
  const values = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))];
  return values.reduce((sum, [, value]) => sum + Number(value), 0);
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  const deadlineMs = performance.now() + untilMsMax;
  while (!(await isSo())) {
    if (performance.now() > deadlineMs) throw new Error(`Not so within ${untilMsMax} ms`);
    await pause(50);
  }
}
