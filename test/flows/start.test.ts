/** Starts that cannot be: one clear line on standard error, and the exit code; and keys beside a running service. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from '../support/client.ts';
import {
  freePorts,
  type Ports,
  runCommand,
  type ServiceProcess,
  slowStart,
  startProcess,
  withDataFolder,
} from '../support/process.ts';

let service: ServiceProcess;
let folder = '';
let end: () => Promise<void>;

beforeAll(async () => {
  const ports = await freePorts();
  await new Promise<void>((resolve, reject) => {
    const ended = withDataFolder(async (dataDir) => {
      folder = dataDir;
      service = await startProcess({ dataDir: join(dataDir, 'running'), ports });
      await new Promise<void>((finish) => {
        end = async () => {
          await service.terminate();
          finish();
          await ended;
        };
        resolve();
      });
    });
    ended.catch(reject);
  });
}, 180_000);
afterAll(() => end(), 60_000);

const settings = (dataDir: string, { api, redirect }: Ports): Record<string, string> => ({
  QZ_DATA_DIR: join(folder, dataDir),
  QZ_API_HOST: '127.0.0.1',
  QZ_API_PORT: String(api),
  QZ_REDIRECT_HOST: '127.0.0.1',
  QZ_REDIRECT_PORT: String(redirect),
});

/** @returns its standard error: one line, or for configuration a heading and a line a fault */
async function refusal(code: number, environment: Record<string, string>, args: string[] = []) {
  const result = await runCommand(['serve', ...args], environment);
  expect(result).toMatchObject({ code, stdout: '' });
  expect(result.stderr).not.toMatch(/^ +at /m);
  const lines = result.stderr.trimEnd().split('\n');
  return lines.filter((line) => !isSlowStart(line)).join('\n');
}

/** A log line that comes before the refusal when the machine is busy. */
function isSlowStart(line: string): boolean {
  if (!line.startsWith('{')) return false;
  const { msg }: { msg?: string } = JSON.parse(line);
  return slowStart.test(msg ?? '');
}

describe(
  'a start that cannot be exits with 1 and says why in one line',
  { timeout: 180_000 },
  () => {
    it('when the data folder is held by a running service', async () => {
      const text = await refusal(1, settings('running', await freePorts()));
      expect(text).toMatch(
        /^Cannot start: data folder .*running is held by a running service, .*$/,
      );
    });

    it('when the short-link port is taken', async () => {
      const ports = { ...(await freePorts()), redirect: service.ports.redirect };
      const text = await refusal(1, settings('other', ports));
      expect(text).toMatch(new RegExp(`^Cannot listen on 127.0.0.1:${ports.redirect}: .*$`));
    });

    it('when the API port is taken', async () => {
      const ports = { ...(await freePorts()), api: service.ports.api };
      const text = await refusal(1, settings('another', ports));
      expect(text).toMatch(new RegExp(`^Cannot listen on 127.0.0.1:${ports.api}: .*$`));
    });

    it('when the data folder cannot be written', async () => {
      await writeFile(join(folder, 'file'), '');
      const text = await refusal(1, settings('file/data', await freePorts()));
      expect(text).toMatch(/^Cannot use data folder .*: ENOTDIR, expected a folder .*$/);
    });

    it('when a secret in the data folder is damaged', async () => {
      await mkdir(join(folder, 'damaged'));
      await writeFile(join(folder, 'damaged', 'visitor.key'), 'short');
      const text = await refusal(1, settings('damaged', await freePorts()));
      expect(text).toMatch(/^Cannot read .*visitor.key: it has 5 bytes, expected 16; .*$/);
    });
  },
);

describe('a bad configuration exits with 2 and names every fault', { timeout: 180_000 }, () => {
  it('an unknown key, and a value of the wrong kind, with their file', async () => {
    const file = join(folder, 'config.json');
    await writeFile(file, JSON.stringify({ scans: { windows: 1 }, api: { port: 'eighty' } }));
    const text = await refusal(2, {}, ['--config', file]);
    expect(text.split('\n')).toHaveLength(3);
    expect(text).toContain(`${file}: scans: unknown key windows`);
    expect(text).toContain(`${file}: api.port: `);
  });

  it('an unknown variable, and a value out of range', async () => {
    expect(await refusal(2, { QZ_API_PROT: '1' })).toBe(
      'Cannot start: unknown environment variable QZ_API_PROT',
    );
    const text = await refusal(2, { QZ_SCANS_WINDOW_MS: '5000' });
    expect(text).toContain('QZ_SCANS_WINDOW_MS: scans.windowMs: ');
  });

  it('a file that is not there, one that is no JSON, a command that does not exist', async () => {
    expect(await refusal(2, { QZ_CONFIG: join(folder, 'none.json') })).toMatch(
      /^Cannot read configuration .*none.json: ENOENT, expected a JSON file$/,
    );
    await writeFile(join(folder, 'no.json'), '{');
    expect(await refusal(2, { QZ_CONFIG: join(folder, 'no.json') })).toMatch(
      /^Cannot parse configuration .*no.json: .*$/,
    );
    expect((await runCommand(['sevre'], {})).code).toBe(2);
  });
});

describe('beside a running service', { timeout: 180_000 }, () => {
  it('keys create prints a key that is accepted at once, with its role', async () => {
    const environment = { QZ_DATA_DIR: join(folder, 'running') };
    const made = await runCommand(
      ['keys', 'create', '--name', 'till', '--role', 'viewer', '--json'],
      environment,
    );
    expect(made).toMatchObject({ code: 0, stderr: '' });
    const { key }: { key: string } = JSON.parse(made.stdout);
    const client = new Client(service.apiUrl, key);
    expect((await client.call('GET', '/v1/qr-codes')).status).toBe(200);
    const body = { target: 'https://example.com/' };
    expect((await client.call('POST', '/v1/qr-codes', { body })).status).toBe(403);
    await client.close();
  });

  it('doctor finds the running service, version prints one line', async () => {
    const doctor = await runCommand(['doctor'], { QZ_DATA_DIR: join(folder, 'running') });
    expect(doctor.stdout).toContain('a service is running on this data folder');
    const version = await runCommand(['version'], {});
    expect(version).toMatchObject({ code: 0, stderr: '' });
    expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
