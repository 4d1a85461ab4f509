/** The `quietzone` command: found through a link from any folder, it ends as the service ends. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/** A fake of the service: prints its arguments, then ends as the first one says. */
const service = `
const [order, ...rest] = process.argv.slice(2);
process.on('SIGTERM', () => {
  console.log('stopped');
  process.exit(7);
});
console.log(JSON.stringify({ order, rest, folder: process.cwd() }));
if (order === 'stay') setTimeout(() => undefined, 20_000);
else if (order === 'die') process.kill(process.pid, 'SIGKILL');
else process.exitCode = 5;
`;

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

describe.each(['as the same process', 'as a child'])('quietzone, %s', (way) => {
  let folder = '';
  let command = '';

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'quietzone-launcher-'));
    const home = join(folder, 'package');
    const binaries = join(home, 'node_modules', `node-${process.platform}-${process.arch}`, 'bin');
    for (const path of [join(home, 'config'), join(home, 'src'), binaries]) {
      mkdirSync(path, { recursive: true });
    }
    const launcher = new URL('../config/quietzone.mjs', import.meta.url);
    copyFileSync(launcher, join(home, 'config', 'quietzone.mjs'));
    writeFileSync(join(home, 'package.json'), '{"type":"module"}');
    writeFileSync(join(home, 'config', 'start.mjs'), service);
    writeFileSync(join(binaries, '..', 'package.json'), '{}');
    const binary = join(binaries, 'node');
    if (way === 'as a child') {
      writeFileSync(binary, `#!/bin/sh\nexec "${process.execPath}" "$@"\n`, { mode: 0o755 });
    } else {
      symlinkSync(process.execPath, binary);
    }
    command = join(folder, 'quietzone');
    symlinkSync(join(home, 'config', 'quietzone.mjs'), command);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const run = (given: readonly string[], signal?: NodeJS.Signals): Promise<Ended> =>
    new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [command, ...given], {
        cwd: tmpdir(),
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let output = '';
      child.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        if (signal !== undefined) child.kill(signal);
      });
      child.on('error', reject);
      child.on('close', (code, by) => resolve({ code: by === 'SIGKILL' ? 137 : code, output }));
    });

  it('passes arguments and the folder on, and the exit code back', async () => {
    const { code, output } = await run(['keys', 'create', '--name', 'a b']);
    expect(code).toBe(5);
    expect(JSON.parse(output)).toEqual({
      order: 'keys',
      rest: ['create', '--name', 'a b'],
      folder: tmpdir(),
    });
  });

  it('passes a signal on', async () => {
    expect(await run(['stay'], 'SIGTERM')).toMatchObject({ code: 7 });
  });

  it('stops when npx has ended, which runs it by a shell that passes no signal on', async () => {
    const line = `"${process.execPath}" "${command}" stay; true`;
    const shell = spawn('/bin/sh', ['-c', line], {
      env: { ...process.env, npm_lifecycle_event: 'npx' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    shell.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      shell.kill('SIGTERM');
    });
    await once(shell, 'close');
    expect(output).toMatch(/stopped\n$/);
  });

  it('ends as killed when the service is killed', async () => {
    expect(await run(['die'])).toMatchObject({ code: 137 });
  });
});
