/** Which commands make a data folder: a wrong path is told of, and nothing appears there. */
import { hash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { openEnvironment } from '../../src/store/open-environment.ts';
import { scansVersion } from '../../src/store/scans/scans.ts';
import { temporaryFolder } from '../store/temporary-management.ts';
import { runCommand } from '../support/process.ts';

let parent: string;
let links: string;
beforeEach(() => {
  parent = temporaryFolder();
  links = join(parent, 'links.ndjson');
  writeFileSync(links, '{"target":"https://example.com/"}\n');
});

it.each([
  'keys create -n till --json',
  'keys list',
  'keys revoke key_00000000000000000000',
  'keys rotate-signing',
  'users create -e a@example.com -n A',
  'users reset-password -e a@example.com',
  'workspaces list',
  'workspaces set-plan ws_00000000000000000000 pro',
  'billing confirm chk_00000000000000000000',
  'backup elsewhere',
  'import LINKS --dry-run',
  'doctor',
])('%s on a wrong path fails, names folder and setting, and makes nothing', async (words) => {
  const missing = join(parent, 'dta');
  const command = words.split(' ').map((word) => (word === 'LINKS' ? links : word));
  const { code, stdout, stderr } = await runCommand(command, { QZ_DATA_DIR: missing });
  const said = `${stdout}${stderr}`;
  expect([code, existsSync(missing)]).toEqual([1, false]);
  expect(said).toContain(`data folder ${missing}`);
  expect(said).toContain('does not exist');
  expect(said).toContain('QZ_DATA_DIR');
});

it('an empty folder is no service: keys are refused and nothing appears in it', async () => {
  const empty = join(parent, 'empty');
  mkdirSync(empty);
  const { code, stderr } = await runCommand(['keys', 'list'], { QZ_DATA_DIR: empty });
  expect([code, readdirSync(empty)]).toEqual([1, []]);
  expect(stderr).toMatch(/^Cannot open data folder .*: it has no data, expected .* serve`\n$/);
});

it('an import makes the first workspace; data of a newer release is refused, and stays as it is', async () => {
  const dataDir = join(parent, 'new');
  const environment = { QZ_DATA_DIR: dataDir };
  const made = await runCommand(['import', links], environment);
  expect([made.code, made.stdout]).toEqual([
    0,
    expect.stringContaining('1 row, 1 created, 0 failed'),
  ]);
  expect(made.stdout).toMatch(/password \S{24}, API key \S+ \(shown once\)/);
  expect(readdirSync(dataDir)).not.toContain('first-start.json');
  const listed = await runCommand(['workspaces', 'list', '--json'], environment);
  expect(JSON.parse(listed.stdout)).toHaveLength(1);

  const path = join(dataDir, 'scans.mdb');
  const { version, migrations } = scansVersion;
  const newer = {
    ...scansVersion,
    version: version + 1,
    migrations: [...migrations, () => undefined],
  };
  await openEnvironment(path, newer, 'existing').environment.close();
  const sums = (): string[] =>
    readdirSync(dataDir)
      .filter((name) => name.endsWith('.mdb'))
      .map((name) => hash('sha256', readFileSync(join(dataDir, name)), 'hex'));
  const before = sums();
  expect(await runCommand(['serve'], environment)).toMatchObject({
    code: 1,
    stdout: '',
    stderr:
      `Cannot open ${path}: its data has version ${version + 1}, expected ${version} or older; ` +
      'start a newer Quietzone, or restore a backup made by this one\n',
  });
  expect(sums()).toEqual(before);
});
