/** What an operator alerts on, as /metrics shows it. */
import { mkdtempSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { backup } from '../../src/engine/backup/backup.ts';
import { meteredHealth } from '../../src/engine/operator-metrics.ts';
import { shipped } from '../../src/shipped.ts';
import { Metrics } from '../../src/telemetry/metrics.ts';
import { TestClock } from '../support/fakes/test-clock.ts';
import { memoryDisk } from './memory-disk.ts';
import { makeWholeFolder, quiet } from './whole-folder.ts';

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/receiver-tls/${name}`, import.meta.url));

test('health by check, program, free disk, last backup and certificate', async () => {
  const parent = mkdtempSync(join(memoryDisk, 'quietzone-metrics-'));
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
  const folder = await makeWholeFolder(join(parent, 'data'));
  const config = loadConfig(undefined, {
    QZ_DATA_DIR: folder.path,
    QZ_API_TLS_CERT_FILE: fixture('certificate.pem'),
    QZ_API_TLS_KEY_FILE: fixture('key.pem'),
  });
  const clock = new TestClock();
  const metrics = new Metrics((metric, error) => expect([metric, error]).toEqual([]));
  let problem: string | undefined;
  const health = meteredHealth(metrics, { config, clock, folder }, [
    { name: 'management', problem: () => problem },
    { name: 'late webhooks', problem: () => problem, isWarning: true },
  ]);
  const valueOf = async (name: string): Promise<number> => {
    const line = (await metrics.text()).split('\n').find((one) => one.startsWith(`${name} `));
    return Number(line?.slice(name.length + 1).replace('+Inf', 'Infinity'));
  };
  expect(await valueOf('quietzone_ready{check="management"}')).toBe(1);
  problem = 'full';
  expect(await valueOf('quietzone_ready{check="late webhooks"}')).toBe(0);
  expect(health().ready).toBe(false);
  expect(await metrics.text()).toContain(`quietzone_build_info{version="${shipped.version}"`);
  expect(await valueOf('quietzone_data_free_bytes')).toBeGreaterThan(0);
  expect(await valueOf('quietzone_backup_age_seconds')).toBe(Infinity);
  await backup(folder, join(parent, 'backup'), { createdAt: '', progress: quiet });
  utimesSync(join(folder.path, 'last-backup'), clock.now() / 1_000, clock.now() / 1_000);
  const expiry = await valueOf('quietzone_certificate_seconds{listener="api"}');
  expect(expiry).toBeGreaterThan(0);
  clock.move(60_000);
  expect(await valueOf('quietzone_backup_age_seconds')).toBeCloseTo(60, 0);
  expect(await valueOf('quietzone_certificate_seconds{listener="api"}')).toBeCloseTo(
    expiry - 60,
    0,
  );
  expect(await valueOf('quietzone_certificate_seconds{listener="redirect"}')).toBeNaN();
});
