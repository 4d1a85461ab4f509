/** Scan limits of the real service with two redirect threads: exact however many scan at a time, and through changes. */
import { Agent, request } from 'undici';
import { expect, test } from 'vitest';
import { Client, word } from '../support/client.ts';
import {
  freePorts,
  type RunningService,
  startProcess,
  withDataFolder,
} from '../support/process.ts';
import { liftQuota } from '../support/lift-quota.ts';
import { soon } from '../support/soon.ts';
import { TestService } from '../support/test-service.ts';

const environment = { QZ_SCANS_SHARDS: '1', QZ_REDIRECT_THREADS: '2' };
const target = 'https://example.com/';
const person = { 'user-agent': 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Safari' };

interface Seen {
  readonly status: number;
  readonly text: string;
}

async function scan(service: RunningService, slug: string, dispatcher?: Agent): Promise<Seen> {
  const url = `http://127.0.0.1:${service.ports.redirect}/${slug}`;
  // One that stays open would be waited for at the stop, four seconds.
  const options = dispatcher === undefined ? { reset: true } : { dispatcher };
  const { statusCode, body } = await request(url, { headers: person, ...options });
  return { status: statusCode, text: await body.text() };
}

/** Scans over connections of their own, so that both threads have some. @returns how many were redirected */
async function scansOf(service: RunningService, slug: string, count: number): Promise<number> {
  const agents = Array.from({ length: 16 }, () => new Agent({ connections: 1 }));
  const all = Array.from({ length: count }, async (_, at) => {
    return (await scan(service, slug, agents[at % agents.length])).status;
  });
  const statuses = await Promise.all(all);
  await Promise.all(agents.map((agent) => agent.destroy()));
  expect([...new Set(statuses)].filter((status) => status !== 302 && status !== 410)).toEqual([]);
  return statuses.filter((status) => status === 302).length;
}

test('limits are exact over two threads, also when they change', async () => {
  await withDataFolder(async (dataDir) => {
    const ports = await freePorts();
    const service = await startProcess({ dataDir, ports, environment });
    await liftQuota(dataDir);
    const client = new Client(service.apiUrl, service.apiKey);
    const made = await client.call('POST', '/v1/qr-codes', {
      body: { target, slug: 'limited', scanLimit: 50 },
    });
    const path = `/v1/qr-codes/${word(made.json.id)}`;
    const patch = async (body: object): Promise<number> =>
      (await client.call('PATCH', path, { body })).status;
    const counted = async (): Promise<number> =>
      Number((await client.call('GET', path)).json.scans);

    expect(await scansOf(service, 'limited', 200)).toBe(50);
    // At once, while the last of these scans are not counted yet.
    expect(await patch({ scanLimit: 80 })).toBe(200);
    expect(await scansOf(service, 'limited', 100)).toBe(30);
    expect(await patch({ scanLimit: 60 })).toBe(200);
    expect(await scansOf(service, 'limited', 20)).toBe(0);
    expect(await patch({ scanLimit: 85, target: `${target}moved` })).toBe(200);
    // A change in the midst of scans gives exactly what it should.
    const [first] = await Promise.all([
      scansOf(service, 'limited', 100),
      patch({ scanLimit: 95 }),
      patch({ target: `${target}again` }),
    ]);
    expect(first + (await scansOf(service, 'limited', 40))).toBe(15);
    await expect.poll(counted, soon).toBe(95);
    const gone = await scan(service, 'LIMITED');
    expect([gone.status, gone.text]).toEqual([410, expect.stringContaining('<!doctype html>')]);
    expect(await patch({ scanLimit: null })).toBe(200);
    expect(await scansOf(service, 'limited', 20)).toBe(20);
    await expect.poll(counted, soon).toBe(115);
    expect(await patch({ scanLimit: 120 })).toBe(200);
    expect(await scansOf(service, 'limited', 3)).toBe(3);

    // What is left of a limit is what was not scanned, also after a crash.
    await service.kill();
    const start = () => TestService.start({ dataDir, ports, environment });
    let second = await start();
    // It does not wait for long with the links, and then promises no limit until its next start: that knows all.
    if (second.stderr.includes('shards are still counting')) {
      await second.close();
      second = await start();
    }
    expect(await scansOf(second, 'limited', 20)).toBe(2);
    await client.close();
    await second.close();
  });
}, 240_000);
