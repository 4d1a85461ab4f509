/** Scan limits of the real service with two redirect threads: exact however many scan at a time, and through changes. */
import { Agent, request } from 'undici';
import { expect, test } from 'vitest';
import { word } from '../support/client.ts';
import { liftQuota, startProcess, withDataFolder } from '../support/process.ts';
import type { RunningService } from '../support/running-service.ts';
import { soon } from '../support/soon.ts';
import { TestService } from '../support/test-service.ts';

const environment = { QZ_SCANS_SHARDS: '1', QZ_REDIRECT_THREADS: '2' };
const target = 'https://example.com/';
const headers = { 'user-agent': 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Safari' };

/** Scans over connections of their own, so that both threads have some. @returns how many were redirected */
async function redirected({ redirectUrl }: RunningService, count: number): Promise<number> {
  const agents = Array.from({ length: 16 }, () => new Agent({ connections: 1 }));
  const all = Array.from({ length: count }, async (_, at) => {
    const dispatcher = agents[at % agents.length]!;
    const { statusCode, body } = await request(`${redirectUrl}/limited`, { headers, dispatcher });
    await body.dump();
    return statusCode;
  });
  const statuses = await Promise.all(all);
  await Promise.all(agents.map((agent) => agent.destroy()));
  expect([302, 410]).toEqual(expect.arrayContaining([...new Set(statuses)]));
  return statuses.filter((status) => status === 302).length;
}

test('limits are exact over two threads, also when they change', () =>
  withDataFolder(async (dataDir) => {
    const service = await startProcess({ dataDir, environment });
    await liftQuota(dataDir);
    const code = await service.makeCode({ target, slug: 'limited', scanLimit: 50 });
    const change = async (body: object): Promise<void> => {
      const { status } = await service.api.patch(`/v1/qr-codes/${word(code.id)}`, body);
      expect(status).toBe(200);
    };
    const counted = () => service.scansOf(code);

    expect(await redirected(service, 200)).toBe(50);
    // At once, while the last of these scans are not counted yet.
    await change({ scanLimit: 80 });
    expect(await redirected(service, 100)).toBe(30);
    await change({ scanLimit: 60 });
    expect(await redirected(service, 20)).toBe(0);
    await change({ scanLimit: 85, target: `${target}moved` });
    // A change in the midst of scans gives exactly what it should.
    const [first] = await Promise.all([
      redirected(service, 100),
      change({ scanLimit: 95 }),
      change({ target: `${target}again` }),
    ]);
    expect(first + (await redirected(service, 40))).toBe(15);
    await expect.poll(counted, soon).toBe(95);
    const gone = await service.links.get('/LIMITED', { headers });
    expect([gone.status, gone.text]).toEqual([410, expect.stringContaining('<!doctype html>')]);
    await change({ scanLimit: null });
    expect(await redirected(service, 20)).toBe(20);
    await expect.poll(counted, soon).toBe(115);
    await change({ scanLimit: 120 });
    expect(await redirected(service, 3)).toBe(3);

    // What is left of a limit is what was not scanned, also after a crash.
    await service.kill();
    const start = () => TestService.start({ dataDir, ports: service.ports, environment });
    let second = await start();
    // It does not wait for long with the links, and then promises no limit until its next start: that knows all.
    if (second.stderr.includes('shards are still counting')) {
      await second.close();
      second = await start();
    }
    expect(await redirected(second, 20)).toBe(2);
    await second.close();
  }));
