/**
 * Starts that cannot be: one clear line on standard error, and the exit code. Processes for one of each exit code, which
 * show what the process entry makes of a reason. A folder or port in use: commands.test.ts. Faults of a data folder:
 * test/app/folder.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../store/temporary-management.ts';
import { runCommand, spawnCommand } from '../support/process.ts';
import { environmentWith, program } from '../support/program.ts';

// Of the threads of others and Node's own: Linux holds root to none, so that Node itself starts.
const few = [['nproc=8', /^Cannot start: \d threads are left to this user .*\n$/]] as const;
const little = /^Cannot start: 8.0 GiB of address space .* at least 48.0 GiB: .*\n$/;
it.each([...(process.getuid?.() === 0 ? few : []), ['as=8589934592', little] as const])(
  'a machine that gives too little to load the program is named: %s',
  (limit, text) => {
    const { status, stderr } = spawnSync('prlimit', [`--${limit}`, ...program, 'serve'], {
      env: environmentWith({}),
    });
    expect([status, String(stderr)]).toEqual([1, expect.stringMatching(text)]);
  },
);

it('a bad configuration exits with 2 and names every fault, with its file or variable', async () => {
  const unknown = 'Unknown environment variable QZ_API_PROT\n';
  const refused = { code: 2, stdout: '' };
  const start = await spawnCommand(['serve'], { QZ_API_PROT: '1' });
  expect(start).toMatchObject({ ...refused, stderr: unknown });
  const file = join(temporaryFolder(), 'config.json');
  writeFileSync(file, JSON.stringify({ scans: { windows: 1 }, api: { port: 'eighty' } }));
  const faulty = await runCommand(['serve', '--config', file], {});
  expect(faulty).toMatchObject(refused);
  expect(faulty.stderr.trimEnd().split('\n')).toEqual([
    expect.any(String),
    expect.stringContaining(`${file}: api.port: `),
    expect.stringContaining(`${file}: scans: unknown key windows`),
  ]);
  writeFileSync(file, '{');
  const damaged = await runCommand(['serve'], { QZ_CONFIG: file });
  expect(damaged.stderr).toMatch(/^Cannot parse configuration .*config.json: .*\n$/);
  expect((await runCommand(['sevre'], {})).code).toBe(2);
});
