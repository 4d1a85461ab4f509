/** A backup beside a loaded service, restored into another folder: a prefix of what was answered, and it serves. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { liftQuota, pause, runCommand, withDataFolder } from '../support/process.ts';
import { soon } from '../support/soon.ts';
import { TestService } from '../support/test-service.ts';

test('a backup under load is one moment of the service, and starts elsewhere', () =>
  withDataFolder(async (parent) => {
    const dataDir = join(parent, 'data');
    // Journal files end, are counted and deleted while they are copied.
    const environment = { QZ_SCANS_SEGMENT_MS_MAX: '10' };
    const service = await TestService.start({ dataDir, environment });
    await liftQuota(dataDir);
    const code = await service.makeCode({ slug: 'kept' });
    const load = { answered: 0, created: 0, isOn: true };
    const scanning = (async () => {
      for (; load.isOn; load.answered += 1) await service.scan('kept');
    })();
    const creating = (async () => {
      for (; load.isOn; load.created += 1) {
        await service.makeCode({ slug: `made-${load.created + 1}` });
        await pause(5);
      }
    })();
    await expect.poll(() => Math.min(load.answered, 5 * load.created), soon).toBeGreaterThan(50);
    const before = { ...load };
    const target = join(parent, 'backup');
    const taken = await runCommand(['backup', target], { QZ_DATA_DIR: dataDir });
    const after = { ...load };
    load.isOn = false;
    await Promise.all([scanning, creating]);
    expect([taken.code, taken.stdout]).toEqual([0, expect.stringMatching(/^Backed up \d+ files/)]);
    await service.close();

    const otherFolder = join(parent, 'other');
    const back = await runCommand(['restore', target], { QZ_DATA_DIR: otherFolder });
    expect([back.code, back.stderr.includes('management.mdb')]).toEqual([0, true]);
    const { apiKey } = service;
    const restored = await TestService.start({ dataDir: otherFolder, apiKey });
    const scans = () => restored.scansOf(code);
    await expect.poll(scans, soon).toBeGreaterThanOrEqual(before.answered);
    expect(await scans()).toBeLessThanOrEqual(after.answered + 1);
    const total = Number((await restored.api.get('/v1/qr-codes')).json.total);
    expect(total).toBeGreaterThanOrEqual(before.created + 1);
    expect(total).toBeLessThanOrEqual(after.created + 2);
    await restored.scan('kept');
    await restored.close();
  }));
