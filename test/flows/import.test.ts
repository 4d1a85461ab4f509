/**
 * `quietzone import` as an operator runs it, beside the real service and killed midway; and a bulk request
 * whose service is killed. Nothing doubled, nothing lost.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { expect, test } from 'vitest';
import { Client, word } from '../support/client.ts';
import {
  type CommandResult,
  freePorts,
  pause,
  runCommand,
  type ServiceProcess,
  startProcess,
  withDataFolder,
} from '../support/process.ts';
import { soon } from '../support/soon.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const fixture = (name: string): string => join(root, 'test/fixtures/exports', name);
const fast = { QZ_SCANS_SHARDS: '1', QZ_REDIRECT_THREADS: '1' };

async function redirectOf(service: ServiceProcess, slug: string): Promise<[number, string]> {
  const url = `http://127.0.0.1:${service.ports.redirect}/${slug}`;
  const { statusCode, headers, body } = await request(url, { method: 'GET' });
  await body.dump();
  return [statusCode, String(headers.location ?? '')];
}

async function total(client: Client, search: string): Promise<number> {
  return Number((await client.call('GET', `/v1/qr-codes?search=${search}&limit=1`)).json.total);
}

const rowsOf = (count: number, name: string): string =>
  Array.from({ length: count }, (_, at) => {
    return JSON.stringify({ target: `https://example.com/${name}/${at}`, slug: `${name}-${at}` });
  }).join('\n');

test('imported beside the running service, a link redirects without a restart', async () => {
  await withDataFolder(async (dataDir) => {
    const service = await startProcess({ dataDir, ports: await freePorts(), environment: fast });
    const client = new Client(service.apiUrl, service.apiKey);
    const shortUrlBase = { QZ_SHORT_URL_BASE: `http://127.0.0.1:${service.ports.redirect}` };
    const run = async (...args: string[]): Promise<CommandResult> =>
      await runCommand(['import', ...args], { QZ_DATA_DIR: dataDir, ...shortUrlBase });

    const imported = await run(fixture('shlink-web.csv'));
    expect([imported.code, imported.stderr]).toEqual([0, expect.stringContaining('as shlink')]);
    expect(imported.stdout).toContain('2 rows, 2 created, 0 failed');
    await expect
      .poll(async () => await redirectOf(service, 'HALL3'), soon)
      .toEqual([302, 'https://example.com/fair']);
    const { items } = await client.call('GET', '/v1/qr-codes?tag=print');
    expect(items).toMatchObject([{ name: 'Fair, hall 3', tags: ['fair', 'print'] }]);
    const events = await client.call('GET', '/v1/events?limit=20');
    expect(events.items.filter(({ event }) => word(event) === 'qr.created')).toHaveLength(2);

    const again = await run(fixture('shlink-web.csv'));
    expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('Imported already')]);
    expect(await total(client, 'example.com')).toBe(2);

    // A change by the API after the import holds: the numbered changes do not bring back what was.
    const one = items[0] ?? {};
    const next = { target: 'https://example.com/next' };
    await client.call('PATCH', `/v1/qr-codes/${word(one.id)}`, { body: next });
    expect(await redirectOf(service, 'hall3')).toEqual([302, 'https://example.com/next']);
    await client.close();
    expect((await service.terminate()).code).toBe(0);

    // And all of it is there after a restart.
    const second = await startProcess({ dataDir, ports: service.ports, environment: fast });
    expect(await redirectOf(second, 'aB3xY')).toEqual([302, 'https://example.com/x']);
    expect((await second.terminate()).code).toBe(0);
  });
}, 240_000);

/** The command, killed once it has made so many rows. */
async function killedImport(
  file: string,
  environment: Record<string, string>,
  until: () => Promise<boolean>,
): Promise<void> {
  const node = join(root, 'node_modules/.bin/node');
  const child: ChildProcess = spawn(node, ['src/main.ts', 'import', file], {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: 'ignore',
  });
  const ended = once(child, 'exit');
  // So often that it is met midway: all of it takes a second or more. Each look is a request of the 600 a minute.
  while (!(await until()) && child.exitCode === null) await pause(40);
  child.kill('SIGKILL');
  await ended;
}

test('an import that is killed goes on where it stopped: nothing doubled, nothing lost', async () => {
  await withDataFolder(async (dataDir) => {
    const service = await startProcess({ dataDir, ports: await freePorts(), environment: fast });
    const client = new Client(service.apiUrl, service.apiKey);
    const environment = {
      QZ_DATA_DIR: dataDir,
      QZ_SHORT_URL_BASE: `http://127.0.0.1:${service.ports.redirect}`,
    };
    const rows = 6_000;
    const file = join(dataDir, 'many.ndjson');
    await writeFile(file, rowsOf(rows, 'many'));
    const counts: number[] = [];
    for (const least of [1, 2_000]) {
      await killedImport(file, environment, async () => (await total(client, 'many')) >= least);
      counts.push(await total(client, 'many'));
    }
    expect(counts[0]).toBeLessThan(rows);
    const result = await runCommand(['import', file], environment);
    expect([result.code, result.stdout]).toEqual([
      0,
      expect.stringContaining(`${rows} rows, ${rows} created, 0 failed`),
    ]);
    if ((counts[1] ?? 0) < rows) expect(result.stderr).toContain('Resumed after row');
    expect(await total(client, 'many')).toBe(rows);
    for (const at of [0, 3_000, rows - 1]) {
      await expect
        .poll(async () => await redirectOf(service, `many-${at}`), soon)
        .toEqual([302, `https://example.com/many/${at}`]);
    }
    await client.close();
    expect((await service.terminate()).code).toBe(0);
  });
}, 240_000);

test('a bulk request whose service is killed goes on under its key', async () => {
  await withDataFolder(async (dataDir) => {
    const ports = await freePorts();
    const service = await startProcess({ dataDir, ports, environment: fast });
    const { apiKey } = service;
    const rows = 4_000;
    const send = async (url: string, onLine: () => void): Promise<string[]> => {
      const response = await request(`${url}/v1/qr-codes/bulk`, {
        method: 'POST',
        headers: {
          accept: 'application/x-ndjson',
          authorization: `Bearer ${apiKey}`,
          'content-type': 'application/x-ndjson',
          'idempotency-key': 'killed',
        },
        body: rowsOf(rows, 'bulk'),
      });
      const lines: string[] = [];
      let rest = '';
      try {
        for await (const piece of response.body) {
          const parts = (rest + String(piece)).split('\n');
          rest = parts.pop() ?? '';
          lines.push(...parts);
          onLine();
        }
      } catch {
        return lines;
      }
      return lines;
    };
    const seen = await send(service.apiUrl, () => service.signal('SIGKILL'));
    await service.exit;
    expect(seen.length).toBeGreaterThan(0);
    expect(seen.length).toBeLessThan(rows);
    const second = await startProcess({ dataDir, ports, environment: fast });
    const all = await send(second.apiUrl, () => undefined);
    expect(all).toHaveLength(rows + 1);
    expect(all.slice(0, seen.length)).toEqual(seen);
    expect(JSON.parse(all.at(-1) ?? '')).toEqual({ created: rows, failed: 0 });
    const client = new Client(second.apiUrl, apiKey);
    expect(await total(client, 'bulk')).toBe(rows);
    await client.close();
    expect((await second.terminate()).code).toBe(0);
  });
}, 240_000);
