/**
 * `quietzone import` beside the real service, killed midway; and a bulk request whose service is killed. Nothing
 * doubled, nothing lost. test/operations/import.test.ts tests what the command makes of a file.
 */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openManagement } from '../../src/store/management/management.ts';
import { sharedFolder } from '../store/temporary-management.ts';
import { word } from '../support/client.ts';
import { pause, runCommand, type ServiceProcess, startProcess } from '../support/process.ts';
import { startProgram } from '../support/program.ts';
import type { RunningService } from '../support/running-service.ts';
import { soon } from '../support/soon.ts';
import { TestService } from '../support/test-service.ts';

const fast = { QZ_SCANS_SHARDS: '1', QZ_REDIRECT_THREADS: '1' };
/** Twelve transactions and more: some of them are left when the first one leads to the kill. */
const manyRows = 1_200;
const dataDir = sharedFolder();
let service: RunningService;
let first: ServiceProcess;
let environment: Record<string, string>;

beforeAll(async () => {
  first = await startProcess({ dataDir, environment: fast });
  service = first;
  environment = { QZ_DATA_DIR: dataDir, QZ_SHORT_URL_BASE: first.redirectUrl };
});
afterAll(() => first.kill());

async function redirectOf(slug: string, headers = {}): Promise<[number, string | undefined]> {
  const answer = await service.links.get(`/${slug}`, { headers });
  return [answer.status, answer.headers['location']];
}

async function total(search: string): Promise<number> {
  const path = `/v1/qr-codes?search=${search}&limit=1`;
  return Number((await service.api.get(path)).json.total);
}

const targetOf = (name: string, at: number): string => `https://example.com/${name}/${at}`;

const rowsOf = (count: number, name: string): string =>
  Array.from({ length: count }, (_, at) =>
    JSON.stringify({ target: targetOf(name, at), slug: `${name}-${at}` }),
  ).join('\n');

/** The command as a process, killed when it has made `codes` codes. @returns how many it has then */
async function killedImport(file: string, codes: number): Promise<number> {
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
  for (const name of ['dub.json', 'shlink.json']) {
    await runCommand(['import', join(exportsFolder, name)], environment);
  }
  const iphone = { 'user-agent': 'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X)' };
  for (const [path, status, target] of [
    ['summer', 302, 'https://example.com/summer'],
    ['menu/winter', 302, 'https://example.com/winter'],
    ['our-app', 302, 'https://apps.apple.com/app/id1234567890'],
    // The old link had no visits left.
    ['used-up', 410, undefined],
  ] as const) {
    await expect.poll(() => redirectOf(path, iphone), soon).toEqual([status, target]);
  }
  expect((await redirectOf('MENU/WINTER'))[1]).toBe('https://example.com/winter');
});

test('killed midway, an import goes on where it stopped, and its links redirect without a restart', async () => {
  const rows = manyRows;
  const file = join(dataDir, 'many.ndjson');
  await writeFile(file, rowsOf(rows, 'many'));
  expect(await killedImport(file, 1)).toBeLessThan(rows);
  const result = await runCommand(['import', file], environment);
  const stdout = expect.stringContaining(`${rows} rows, ${rows} created, 0 failed`);
  expect(result).toMatchObject({ code: 0, stdout });
  expect(result.stderr).toContain('Resumed after row');
  expect(await total('many')).toBe(rows);
  for (const at of [0, rows - 1]) {
    const moved = [302, targetOf('many', at)];
    await expect.poll(() => redirectOf(`many-${at}`), soon).toEqual(moved);
  }
  const again = await runCommand(['import', file], environment);
  expect([again.code, again.stdout]).toEqual([0, expect.stringContaining('Imported already')]);

  // A change by the API after the import holds: the numbered changes do not bring back what was.
  const { items } = await service.api.get('/v1/qr-codes?search=many/7&limit=1');
  const changed = items[0] ?? {};
  const next = { target: 'https://example.com/next' };
  await service.api.patch(`/v1/qr-codes/${word(changed.id)}`, next);
  const slug = word(changed.shortUrl).split('/').at(-1) ?? '';
  expect(await redirectOf(slug)).toEqual([302, next.target]);
});

test('a bulk request whose service is killed goes on under its key, and imported links are there', async () => {
  const rows = manyRows;
  const send = async () =>
    await service.api.call('POST', '/v1/qr-codes/bulk', {
      raw: rowsOf(rows, 'bulk'),
      headers: { 'content-type': 'application/x-ndjson', 'idempotency-key': 'killed' },
    });
  const cut = send().catch(() => undefined);
  let before = 0;
  while (before === 0) before = await total('bulk');
  first.signal('SIGKILL');
  await first.exit;
  expect(await cut).toBeUndefined();
  const { apiKey } = first;
  const second = await TestService.start({ dataDir, environment: fast, apiKey });
  service = second;
  const made = await total('bulk');
  expect(made).toBeGreaterThanOrEqual(before);
  expect(made).toBeLessThan(rows);
  const { json } = await send();
  expect(json).toMatchObject({ created: rows, failed: 0 });
  expect(json.results).toHaveLength(rows);
  expect(await total('bulk')).toBe(rows);
  expect(await redirectOf('many-0')).toEqual([302, targetOf('many', 0)]);
  await second.close();
});
