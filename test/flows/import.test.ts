/**
 * `quietzone import` beside the real service, killed midway; and a bulk request whose service is killed. Nothing
 * doubled, nothing lost. What the command makes of a file is tested in test/cli/import.test.ts.
 */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { request } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openManagement } from '../../src/store/management/management.ts';
import { Client, word } from '../support/client.ts';
import {
  freePorts,
  pause,
  runCommand,
  type RunningService,
  type ServiceProcess,
  startProcess,
} from '../support/process.ts';
import { startProgram } from '../support/program.ts';
import { soon } from '../support/soon.ts';
import { TestService } from '../support/test-service.ts';

const fast = { QZ_SCANS_SHARDS: '1', QZ_REDIRECT_THREADS: '1' };
/** Twelve transactions and more: some of them are left when the first one leads to the kill. */
const manyRows = 1_200;
let dataDir: string;
let service: RunningService;
let first: ServiceProcess;
let apiKey: string;
let client: Client;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'quietzone-import-'));
  first = await startProcess({ dataDir, ports: await freePorts(), environment: fast });
  service = first;
  ({ apiKey } = service);
  client = new Client(service.apiUrl, apiKey);
});
afterAll(async () => {
  await client.close();
  await first.kill();
  rmSync(dataDir, { recursive: true, force: true });
});

async function redirectOf(slug: string, sent = {}): Promise<[number, string]> {
  const url = `http://127.0.0.1:${service.ports.redirect}/${slug}`;
  // A connection that stays open would be waited for at the stop, four seconds.
  const asked = { method: 'GET', reset: true, headers: sent } as const;
  const { statusCode, headers, body } = await request(url, asked);
  await body.dump();
  return [statusCode, String(headers.location ?? '')];
}

async function total(search: string): Promise<number> {
  return Number((await client.call('GET', `/v1/qr-codes?search=${search}&limit=1`)).json.total);
}

const targetOf = (name: string, at: number): string => `https://example.com/${name}/${at}`;

const rowsOf = (count: number, name: string): string =>
  Array.from({ length: count }, (_, at) =>
    JSON.stringify({ target: targetOf(name, at), slug: `${name}-${at}` }),
  ).join('\n');

/** The command as a process, killed when it has made `codes` codes. @returns how many it has then */
async function killedImport(
  file: string,
  environment: Record<string, string>,
  codes: number,
): Promise<number> {
  const store = openManagement(join(dataDir, 'management.mdb'));
  const before = store.last('code');
  const created = (): number => {
    store.environment.refresh();
    return store.last('code') - before;
  };
  const child = startProgram(['import', file], { environment, stdio: 'ignore' });
  const ended = once(child, 'exit');
  while (created() < codes && child.exitCode === null) await pause(2);
  child.kill('SIGKILL');
  await ended;
  const left = created();
  await store.close();
  return left;
}

const exportsFolder = fileURLToPath(new URL('../fixtures/exports/', import.meta.url));

test('links of another tool lead where they led, by the address that is printed', async () => {
  const shortUrlBase = `http://127.0.0.1:${service.ports.redirect}`;
  const environment = { QZ_DATA_DIR: dataDir, QZ_SHORT_URL_BASE: shortUrlBase };
  for (const name of ['dub.json', 'shlink.json']) {
    await runCommand(['import', join(exportsFolder, name)], environment);
  }
  const iphone = { 'user-agent': 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X)' };
  for (const [path, status, target] of [
    ['summer', 302, 'https://example.com/summer'],
    ['menu/winter', 302, 'https://example.com/winter'],
    ['our-app', 302, 'https://apps.apple.com/app/id1234567890'],
    // The old link had no visits left.
    ['used-up', 410, ''],
  ] as const) {
    await expect.poll(() => redirectOf(path, iphone), soon).toEqual([status, target]);
  }
  expect((await redirectOf('MENU/WINTER'))[1]).toBe('https://example.com/winter');
});

test('killed midway, an import goes on where it stopped, and its links redirect without a restart', async () => {
  const environment = {
    QZ_DATA_DIR: dataDir,
    QZ_SHORT_URL_BASE: `http://127.0.0.1:${service.ports.redirect}`,
  };
  const rows = manyRows;
  const file = join(dataDir, 'many.ndjson');
  await writeFile(file, rowsOf(rows, 'many'));
  expect(await killedImport(file, environment, 1)).toBeLessThan(rows);
  const result = await runCommand(['import', file], environment);
  expect([result.code, result.stdout]).toEqual([
    0,
    expect.stringContaining(`${rows} rows, ${rows} created, 0 failed`),
  ]);
  expect(result.stderr).toContain('Resumed after row');
  expect(await total('many')).toBe(rows);
  for (const at of [0, rows - 1]) {
    await expect
      .poll(async () => await redirectOf(`many-${at}`), soon)
      .toEqual([302, targetOf('many', at)]);
  }
  const again = await runCommand(['import', file], environment);
  expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('Imported already')]);

  // A change by the API after the import holds: the numbered changes do not bring back what was.
  const { items } = await client.call('GET', '/v1/qr-codes?search=many/7&limit=1');
  const changed = items[0] ?? {};
  const next = { target: 'https://example.com/next' };
  await client.call('PATCH', `/v1/qr-codes/${word(changed.id)}`, { body: next });
  const slug = word(changed.shortUrl).split('/').at(-1) ?? '';
  expect(await redirectOf(slug)).toEqual([302, next.target]);
}, 240_000);

test('a bulk request whose service is killed goes on under its key, and imported links are there', async () => {
  const rows = manyRows;
  const send = async () =>
    await client.call('POST', '/v1/qr-codes/bulk', {
      raw: rowsOf(rows, 'bulk'),
      headers: { 'content-type': 'application/x-ndjson', 'idempotency-key': 'killed' },
    });
  const cut = send().catch(() => undefined);
  let before = 0;
  while (before === 0) before = await total('bulk');
  first.signal('SIGKILL');
  await first.exit;
  expect(await cut).toBeUndefined();
  await client.close();
  const { ports } = first;
  const second = await TestService.start({ dataDir, ports, environment: fast, apiKey });
  service = second;
  client = new Client(service.apiUrl, apiKey);
  const made = await total('bulk');
  expect(made).toBeGreaterThanOrEqual(before);
  expect(made).toBeLessThan(rows);
  const { json } = await send();
  expect(json).toMatchObject({ created: rows, failed: 0 });
  expect(json.results).toHaveLength(rows);
  expect(await total('bulk')).toBe(rows);
  expect(await redirectOf('many-0')).toEqual([302, targetOf('many', 0)]);
  await second.close();
}, 240_000);
