/** What an operator alerts on, as /metrics shows it. */
import { utimesSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, test } from 'vitest';
import { loadConfig } from '../../../src/platform/config/config.ts';
import { backup } from '../../../src/app/folder/backup/backup.ts';
import { meteredHealth } from '../../../src/app/metrics/operator-metrics.ts';
import { JournalLag } from '../../../src/engine/journal/journal-lag.ts';
import { JournalPositions } from '../../../src/engine/journal/positions.ts';
import { shipped } from '../../../src/platform/shipped.ts';
import { Metrics } from '../../../src/platform/metrics.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';
import { makeWholeFolder, quiet } from '../folder/whole-folder.ts';
import { memoryDisk } from '../folder/memory-disk.ts';

const fixture = (name: string): string =>
  fileURLToPath(new URL(`../../fixtures/receiver-tls/${name}`, import.meta.url));

test('health by check, program, free disk, last backup and certificate', async () => {
  const parent = temporaryFolder(memoryDisk);
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
    const lines = (await metrics.text()).replaceAll('+Inf', 'Infinity').split('\n');
    return Number(lines.find((line) => line.startsWith(`${name} `))?.slice(name.length));
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
  const certificate = 'quietzone_certificate_seconds{listener="api"}';
  const expiry = await valueOf(certificate);
  expect(expiry).toBeGreaterThan(0);
  clock.move(60_000);
  expect(await valueOf('quietzone_backup_age_seconds')).toBeCloseTo(60, 0);
  expect(await valueOf(certificate)).toBeCloseTo(expiry - 60, 0);
  expect(await valueOf('quietzone_certificate_seconds{listener="redirect"}')).toBeNaN();
});

/** What is not counted is measured where it is written: whatever a shard does, or does no longer. */

const secondMs = 1_000;

it('grows while a shard says nothing, and ends when it has caught up', () => {
  const tails = new JournalPositions();
  const shards = [new JournalPositions(), new JournalPositions()] as const;
  const lag = new JournalLag(tails, shards);
  let nowMs = 0;
  // As a busy redirect thread, while shard 0 is dead and shard 1 counts at once.
  const written = 600;
  for (let second = 1; second <= written; second++) {
    tails.publish(3, second * 100);
    shards[1].publish(3, second * 100);
    nowMs = second * secondMs;
    lag.sample(nowMs);
    expect(lag.of(0, nowMs)).toEqual({ bytes: second * 100, ms: nowMs - secondMs });
    expect(lag.of(1, nowMs)).toEqual({ bytes: 0, ms: 0 });
  }
  // Nothing more is written: it gets older all the same.
  for (let second = 0; second < 60; second++) lag.sample((nowMs += secondMs));
  expect(lag.of(0, nowMs).ms).toBe(nowMs - secondMs);
  expect(lag.uncountedBytes).toBe(written * 100);

  // It starts again and counts: the age is that of what is left, or a little less, for samples are few.
  shards[0].publish(3, 30_000);
  const { bytes, ms } = lag.of(0, nowMs);
  expect(bytes).toBe(30_000);
  const ageMs = nowMs - 301 * secondMs;
  expect(ms).toBeLessThanOrEqual(ageMs);
  expect(ms).toBeGreaterThan(ageMs * 0.9);
  shards[0].publish(3, written * 100);
  expect(lag.of(0, nowMs)).toEqual({ bytes: 0, ms: 0 });

  // A pause is no age: what is written after it is new.
  lag.sample((nowMs += 3_600 * secondMs));
  tails.publish(3, written * 100 + 1);
  expect(lag.of(0, nowMs)).toEqual({ bytes: 1, ms: 0 });
  lag.sample((nowMs += secondMs));
  lag.sample((nowMs += secondMs));
  expect(lag.of(0, nowMs)).toEqual({ bytes: 1, ms: secondMs });
});

it('adds up all journals, also one that is written first when it is late', () => {
  const tails = new JournalPositions();
  const consumed = new JournalPositions();
  const lag = new JournalLag(tails, [consumed]);
  lag.sample(1);
  expect(lag.of(0, 1)).toEqual({ bytes: 0, ms: 0 });
  tails.publish(0, 10);
  lag.sample(2);
  tails.publish(4_000, 5);
  lag.sample(3);
  expect(lag.of(0, 10)).toEqual({ bytes: 15, ms: 8 });
  consumed.publish(0, 10);
  expect(lag.of(0, 10)).toEqual({ bytes: 5, ms: 7 });
});
