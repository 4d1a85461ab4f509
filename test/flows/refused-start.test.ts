/**
 * Starts that cannot be: one clear line on standard error, and the exit code. In this process but for one of each
 * exit code, which shows what the process entry makes of a reason. Faults of a data folder: test/engine/installation.
 */
import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ListenError } from '../../src/http/port.ts';
import { freePorts, runCommand, settingsOf, spawnCommand } from '../support/process.ts';
import { environmentWith, program } from '../support/program.ts';
import { TestService } from '../support/test-service.ts';

let service: TestService;
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'quietzone-flow-'));
  service = await TestService.start({ dataDir: join(folder, 'running') });
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true });
});

describe('a start that cannot be exits with 1 and says why in one line', () => {
  it('when the data folder is locked by a running service', async () => {
    const environment = settingsOf({ dataDir: join(folder, 'running'), ports: await freePorts() });
    const { code, stdout, stderr } = await spawnCommand(['serve'], environment);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(
      /^Cannot start: data folder .*running is locked by a running service, .*\n$/,
    );
  });

  // Of the threads of others and Node's own: Linux holds root to none, so that Node itself starts.
  const few = [['nproc=8', /^Cannot start: \d threads are left to this user .*\n$/]] as const;
  it.each([
    ...(process.getuid?.() === 0 ? few : []),
    [
      'as=8589934592',
      /^Cannot start: 8.0 GiB of address space .* at least 48.0 GiB: .*\n$/,
    ] as const,
  ])('when the machine gives too little to load the program: %s', (limit, text) => {
    const { status, stderr } = spawnSync('prlimit', [`--${limit}`, ...program, 'serve'], {
      env: environmentWith({}),
    });
    expect([status, String(stderr)]).toEqual([1, expect.stringMatching(text)]);
  });

  it('when the short-link port is taken', async () => {
    const ports = { ...(await freePorts()), redirect: service.ports.redirect };
    const started = TestService.start({ dataDir: join(folder, 'other'), ports });
    await expect(started).rejects.toThrow(ListenError);
    await expect(started).rejects.toThrow(`Cannot listen on 127.0.0.1:${ports.redirect}: `);
  });
});

it('a bad configuration exits with 2 and names every fault, with its file or variable', async () => {
  const { code, stdout, stderr } = await spawnCommand(['serve'], { QZ_API_PROT: '1' });
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toBe('Unknown environment variable QZ_API_PROT\n');
  const file = join(folder, 'config.json');
  await writeFile(file, JSON.stringify({ scans: { windows: 1 }, api: { port: 'eighty' } }));
  const start = await runCommand(['serve', '--config', file], {});
  expect([start.code, start.stdout, start.stderr.trimEnd().split('\n')]).toEqual([
    2,
    '',
    [
      expect.any(String),
      expect.stringContaining(`${file}: api.port: `),
      expect.stringContaining(`${file}: scans: unknown key windows`),
    ],
  ]);
  await writeFile(file, '{');
  expect((await runCommand(['serve'], { QZ_CONFIG: file })).stderr).toMatch(
    /^Cannot parse configuration .*config.json: .*\n$/,
  );
  expect((await runCommand(['sevre'], {})).code).toBe(2);
});
