/**
 * The data folder is moved away under load, as an unmount or an `mv` does, while a shard dies: redirects and changes go
 * on in the open files, health says so, nothing is made at its path by any thread, and when it is back all is counted
 * without a restart. Then it is moved away again, and the service stops.
 */
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openFilesIn } from '../../support/leaks.ts';
import {
  fewThreads,
  type ServiceProcess,
  startProcess,
  withDataFolder,
} from '../../support/process.ts';
import { preload } from '../../support/program.ts';
import { soon } from '../../support/soon.ts';
import { TestService } from '../../support/test-service.ts';
import { Load, trustLoopback } from '../load.ts';

/** Short segments: some must begin while the folder is away. */
const environment = { ...trustLoopback, ...fewThreads, QZ_SCANS_SEGMENT_MS_MAX: '500' };

it('a data folder that is not in place stops neither redirects nor changes, and is counted when it is back', () =>
  withDataFolder(async (parent) => {
    const dataDir = join(parent, 'data');
    const away = join(parent, 'away');
    const nodeOptions = [preload('end-threads')];
    const service = await startProcess({ dataDir, environment, nodeOptions });
    const reasons = async (): Promise<string> => {
      const { status, text } = await service.api.get('/health/ready', { key: undefined });
      return status === 200 ? '' : text;
    };
    const lagBytes = () => service.metric('quietzone_journal_lag_bytes');
    const load = await Load.start(service, 5, 400);
    await load.isUnderWay();
    await expectWritten(service);

    renameSync(dataDir, away);
    await expect.poll(reasons, soon).toContain(`${dataDir} is not there`);
    service.signal('SIGWINCH');
    await service.waitForLog(/a shard thread failed/, soon.timeout);
    const answered = load.ledger.answered;
    await expect.poll(() => load.ledger.answered, soon).toBeGreaterThan(answered + 600);
    await expect.poll(lagBytes, soon).toBeGreaterThan(65_536);
    const { acknowledged } = load.ledger;
    await expect.poll(() => load.ledger.acknowledged, soon).toBeGreaterThan(acknowledged + 5);
    await expectKeys(service);
    expect(existsSync(dataDir)).toBe(false);

    renameSync(away, dataDir);
    await expect.poll(reasons, soon).toBe('');
    await load.stopWrites();
    await expect.poll(lagBytes, soon).toBeLessThan(65_536);
    renameSync(dataDir, away);
    await expect.poll(reasons, soon).toContain('is not there');
    // The stop comes while a shard waits for the folder to start again.
    service.signal('SIGWINCH');
    await service.waitForLog(/(a shard thread failed[^]*){2}/, soon.timeout);
    const unanswered = await load.stopScans();
    expect((await service.terminate()).code).toBe(0);
    expect(existsSync(dataDir)).toBe(false);
    renameSync(away, dataDir);
    const next = await TestService.start({ dataDir, environment, apiKey: service.apiKey });
    await next.close();

    const kept = await load.expectKept();
    expect(kept.counted - kept.answered).toBeLessThanOrEqual(unanswered);
    const messages = service.complaints.map(({ msg }) => msg);
    // A shard that dies before its next figures never says that it could not read.
    const early = 'reading a journal failed, retrying';
    expect(new Set([...messages, early])).toEqual(
      new Set([
        'the data folder was moved or unmounted: redirects continue, counting waits for it',
        'a shard thread failed, restarting',
        early,
        'stopped before all scans were counted, the next start counts them',
      ]),
    );
    expect(messages.length).toBeLessThan(8);
  }));

/** A store finds out with a file beside it whether the disk takes writes, and opens that at its first write. */
async function expectWritten({ dataDir, pid }: ServiceProcess): Promise<void> {
  for (const store of ['management', 'scans', 'delivery']) {
    const open = (): string => openFilesIn(dataDir, pid).join();
    await expect.poll(open, soon).toContain(`${store}.mdb.trial`);
  }
}

/** Keys are signed and read with the secrets of a file that is away. */
async function expectKeys({ api, apiKey }: ServiceProcess): Promise<void> {
  expect((await api.post('/v1/api-keys', { name: 'made while it is away' })).status).toBe(201);
  const [, ...rest] = apiKey.split('.');
  const header = Buffer.from('{"alg":"HS256","typ":"JWT","kid":"unknown"}').toString('base64url');
  const key = [header, ...rest].join('.');
  expect((await api.get('/v1/qr-codes', { key })).status).toBe(401);
}
