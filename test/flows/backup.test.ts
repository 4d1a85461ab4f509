/** A backup beside a loaded service, restored otherFolder: a prefix of what was answered, and it serves. */
import { liftQuota } from '../support/lift-quota.ts';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Client } from '../support/client.ts';
import { pause, runCommand, type RunningService, withDataFolder } from '../support/process.ts';
import { soon } from '../support/soon.ts';
import { TestService } from '../support/test-service.ts';

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
