/** A backup beside a loaded service, restored otherFolder: a prefix of what was answered, and it serves. */
import { liftQuota } from '../support/lift-quota.ts';
import { appendFileSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { contentsOf, makeWholeFolder } from '../engine/whole-folder.ts';
import { Client } from '../support/client.ts';
import {
  pause,
  runCommand,
  type RunningService,
  spawnCommand,
  withDataFolder,
} from '../support/process.ts';
import { soon } from '../support/soon.ts';
import { TestService } from '../support/test-service.ts';
import { killedAt } from './process/killed-at.ts';

const agent = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:126.0) Firefox/126.0' };

async function scansOf(service: RunningService, key: string, id: string): Promise<number> {
  const client = new Client(service.apiUrl, key);
  const { json } = await client.call('GET', `/v1/qr-codes/${id}`);
  await client.close();
  return Number(json['scans']);
}

test(
  'a backup under load is one moment of the service, and starts elsewhere',
  { timeout: 180_000 },
  async () => {
    await withDataFolder(async (parent) => {
      const dataDir = join(parent, 'data');
      // Journal files end, are counted and deleted while they are copied.
      const environment = { QZ_SCANS_SEGMENT_MS_MAX: '10' };
      const service = await TestService.start({ dataDir, environment });
      await liftQuota(dataDir);
      const client = new Client(service.apiUrl, service.apiKey);
      const links = new Client(`http://127.0.0.1:${service.ports.redirect}`);
      const create = (slug: string) =>
        client.call('POST', '/v1/qr-codes', { body: { target: 'https://example.com/', slug } });
      const made = await create('kept');
      const { id }: { id: string } = JSON.parse(made.text);
      const load = { answered: 0, created: 0, isOn: true };
      const scanning = (async () => {
        while (load.isOn) {
          const { status } = await links.call('GET', '/kept', { headers: agent });
          if (status === 302) load.answered += 1;
        }
      })();
      const creating = (async () => {
        while (load.isOn) {
          if ((await create(`made-${load.created + 1}`)).status === 201) load.created += 1;
          await pause(5);
        }
      })();
      await expect.poll(() => Math.min(load.answered, 5 * load.created), soon).toBeGreaterThan(50);
      const before = { answered: load.answered, created: load.created };
      const target = join(parent, 'backup');
      const taken = await runCommand(['backup', target], { QZ_DATA_DIR: dataDir });
      const after = { answered: load.answered, created: load.created };
      load.isOn = false;
      await Promise.all([scanning, creating]);
      expect([taken.code, taken.stdout]).toEqual([
        0,
        expect.stringMatching(/^Backed up \d+ files/),
      ]);
      await Promise.all([client, links].map((open) => open.close()));
      await service.close();

      const otherFolder = join(parent, 'other');
      const back = await runCommand(['restore', target], { QZ_DATA_DIR: otherFolder });
      expect([back.code, back.stderr.includes('management.mdb')]).toEqual([0, true]);
      const restored = await TestService.start({ dataDir: otherFolder });
      const scans = () => scansOf(restored, service.apiKey, id);
      await expect.poll(scans, soon).toBeGreaterThanOrEqual(before.answered);
      expect(await scans()).toBeLessThanOrEqual(after.answered + 1);
      const api = new Client(restored.apiUrl, service.apiKey);
      const { json } = await api.call('GET', '/v1/qr-codes');
      expect(Number(json['total'])).toBeGreaterThanOrEqual(before.created + 1);
      expect(Number(json['total'])).toBeLessThanOrEqual(after.created + 2);
      const link = new Client(restored.redirectUrl);
      expect((await link.call('GET', '/kept', { headers: agent })).status).toBe(302);
      for (const open of [api, link]) await open.close();
      await restored.close();
    });
  },
);

test('a backup is whole or absent, and nothing is written over', { timeout: 180_000 }, async () => {
  await withDataFolder(async (parent) => {
    const dataDir = join(parent, 'data');
    const environment = { QZ_DATA_DIR: dataDir };
    expect((await runCommand(['backup', join(parent, 'b')], environment)).stderr).toMatch(
      /Cannot open data folder .*: it does not exist/,
    );
    await makeWholeFolder(dataDir);
    const target = join(parent, 'backup');
    mkdirSync(target);
    const taken = await runCommand(['backup', target], environment);
    expect([taken.code, taken.stderr]).toEqual([0, expect.stringMatching(/\nreading the copy\n$/)]);
    expect((await runCommand(['backup', target], environment)).stderr).toMatch(
      /Cannot back up to .*, expected an empty folder/,
    );
    expect((await runCommand(['restore', target], environment)).stderr).toMatch(
      /Cannot restore into .*, expected an empty folder/,
    );
    const fresh = { QZ_DATA_DIR: join(parent, 'fresh') };
    expect((await runCommand(['restore', dataDir], fresh)).stderr).toMatch(
      /no readable backup.json/,
    );
    appendFileSync(join(target, 'management.mdb'), 'x');
    expect((await runCommand(['restore', target], fresh)).stderr).toMatch(
      /management.mdb is damaged/,
    );
    expect(existsSync(fresh.QZ_DATA_DIR) ? readdirSync(fresh.QZ_DATA_DIR) : []).toEqual([]);
    expect(readdirSync(parent).filter((name) => name.includes('partial'))).toEqual([]);
    rmSync(join(dataDir, 'scans.mdb'));
    const kept = await runCommand(['backup', '--keep-damaged', `${target}2`], environment);
    expect([kept.code, kept.stdout]).toEqual([1, expect.stringMatching(/2\.damaged\n$/)]);
    expect(kept.stderr).toMatch(/Its data is damaged:\n {2}scans.mdb is missing\n$/);
  });
});

test('a restore that is killed is told by every command, and done again by its own', async () => {
  await withDataFolder(async (parent) => {
    const dataDir = join(parent, 'data');
    await makeWholeFolder(dataDir);
    const target = join(parent, 'backup');
    expect((await runCommand(['backup', target], { QZ_DATA_DIR: dataDir })).code).toBe(0);
    const environment = { QZ_DATA_DIR: join(parent, 'restored') };
    const draft = join(environment.QZ_DATA_DIR, '.restoring', 'logos');
    const midway = { ...environment, ...killedAt(draft) };
    const killed = await spawnCommand(['restore', target], midway);
    expect(killed.signal).toBe('SIGKILL');
    for (const command of ['serve', 'backup', 'keys']) {
      const args = { serve: [], backup: [`${target}2`], keys: ['list'] }[command] ?? [];
      const { code, stderr } = await runCommand([command, ...args], environment);
      expect([command, code]).toEqual([command, 1]);
      expect(stderr).toMatch(/a restore did not finish, .* run `quietzone restore .*backup` again/);
    }
    const again = await runCommand(['restore', target], environment);
    expect([again.code, again.stdout]).toEqual([0, expect.stringMatching(/^Restored \d+ files/)]);
    expect(Object.keys(contentsOf(environment.QZ_DATA_DIR))).toEqual(
      Object.keys(contentsOf(target)).filter((name) => name !== 'backup.json'),
    );
  });
});
