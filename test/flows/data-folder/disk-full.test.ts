/**
 * The disk fills up under a running service: redirects keep answering, writes are refused with
 * storage_full, health and metrics say so; with space again all is well within seconds, and what was
 * answered is either counted or in the metrics as lost.
 *
 * The disk is a real small one, where this user may mount it. Elsewhere the file size limit of the running process is
 * lowered, so every write fails as on a full disk: any user may do that.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  fewThreads,
  isWithin,
  liftQuota,
  type ServiceProcess,
  startProcess,
  type TimeLimit,
  withDataFolder,
} from '../../support/process.ts';
import { soon } from '../../support/soon.ts';
import { fillDisk, mountSmallDisk, unmount } from './small-disk.ts';

const recoveryLimit: TimeLimit = { msMax: 5_000, loadings: 12 };
/** The smallest backlog that the configuration takes: about 400 scans in memory. */
const backlogBytes = 65_536;
const scansBefore = 40;
const scansWithout = 900;
const scansAfter = 20;
/** Fewer than the backlog takes: at the stop they are lost, but for what still fits into a journal's first pages. */
const scansLast = 200;
const stopMsMax = 15_000;
const dropped = 'quietzone_scans_dropped_total';

/** LMDB's two meta pages: a full disk takes what replaces blocks of a file. Without it a commit under way would end the service. */
const metaBytes = 8_192;

interface Disk {
  fill(): void;
  free(): void;
}

function diskOf({ dataDir, pid }: ServiceProcess, isMounted: boolean): Disk {
  const filler = join(dataDir, 'filler');
  const limit = (limits: string): void =>
    void execFileSync('prlimit', ['--pid', String(pid), `--fsize=${limits}`]);
  return isMounted
    ? { fill: () => fillDisk(filler), free: () => rmSync(filler) }
    : { fill: () => limit(`${metaBytes}:`), free: () => limit('unlimited:') };
}

it('a full disk stops no redirect and loses nothing in silence', () =>
  withDataFolder(async (parent) => {
    const dataDir = join(parent, 'data');
    mkdirSync(dataDir);
    const isMounted = mountSmallDisk(dataDir);
    const environment = { ...fewThreads, QZ_SCANS_BACKLOG_BYTES_MAX: String(backlogBytes) };
    const service = await startProcess({ dataDir, environment });
    await liftQuota(dataDir);
    try {
      await fillAndFree(service, diskOf(service, isMounted));
    } finally {
      await service.kill();
      if (isMounted) unmount(dataDir);
    }
  }));

async function fillAndFree(service: ServiceProcess, disk: Disk): Promise<void> {
  const scan = (times: number): Promise<void> => service.scan('full-1', times);
  const code = await service.makeCode({ slug: 'full-1' });
  await scan(scansBefore);

  disk.fill();
  await scan(scansWithout);
  const body = { target: 'https://example.com/', slug: 'full-2' };
  const refused = await service.api.post('/v1/qr-codes', body);
  expect([503, 507]).toContain(refused.status);
  expect(refused.json.code).toBe('storage_full');
  await until(async () => {
    const { status, text } = await ready(service);
    return status === 503 && text.includes('cannot be written');
  });
  await until(async () => (await service.metric('quietzone_scans_waiting')) > 0);
  await until(async () => (await service.metric(dropped)) > 0);

  disk.free();
  const freedMs = performance.now();
  await until(async () => (await ready(service)).status === 200);
  await service.makeCode({ slug: 'full-3' });
  const recoveryMs = performance.now() - freedMs;
  expect([recoveryMs, await isWithin(recoveryMs, recoveryLimit)]).toEqual([recoveryMs, true]);

  await scan(scansAfter);
  const answered = scansBefore + scansWithout + scansAfter;
  const accounted = async (): Promise<number> =>
    (await service.scansOf(code)) + (await service.metric(dropped));
  await expect.poll(accounted, soon).toBe(answered);
  // The storage engine also writes lines of its own, which are no JSON: only ours are looked at.
  expect(service.stderr).not.toMatch(/"level":"fatal"/);
  expect(service.stderr.match(/"level":"error"/g)?.length ?? 0).toBeLessThan(20);

  disk.fill();
  await scan(scansLast);
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
  const told = new RegExp(`${lost} answered scans are lost[^\\n]*stopped with errors`);
  expect(service.stderr).toMatch(told);
}

const ready = ({ api }: ServiceProcess) => api.get('/health/ready', { key: undefined });

/** What comes at once or in the tick of a second. */
async function until(isSo: () => Promise<boolean>): Promise<void> {
  await expect.poll(isSo, soon).toBe(true);
}
