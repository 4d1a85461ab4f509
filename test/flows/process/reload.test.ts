/** `quietzone reload` and what it starts, as processes: what an operator and systemd see of a takeover. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { openDataFolder } from '../../../src/app/folder/data-folder.ts';
import { PredecessorConnection } from '../../../src/app/upgrade/predecessor-connection.ts';
import { dataVersions } from '../../../src/app/modules.ts';
import { createLog } from '../../../src/platform/log.ts';
import {
  endOf,
  freePorts,
  runCommand,
  settingsOf,
  spawnCommand,
  startProcess,
  withDataFolder,
} from '../../support/process.ts';
import { entriesOf } from '../../support/running-service.ts';
import { startProgram } from '../../support/program.ts';
import { soon } from '../../support/soon.ts';

const pidIn = (dataDir: string): number =>
  Number(readFileSync(join(dataDir, 'service.pid'), 'utf8'));

test('without a running service a reload starts none', () =>
  withDataFolder(async (dataDir) => {
    const environment = settingsOf({ dataDir, ports: await freePorts() });
    const { code, stdout, stderr } = await runCommand(['reload'], environment);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(
      /^Cannot reload: no service runs on data folder .*, expected one: .*\n$/,
    );
    expect((await runCommand(['reload'], { QZ_API_PROT: '1' })).code).toBe(2);
  }));

test('a reload that fails leaves the service as it is, and says why', () =>
  withDataFolder(async (dataDir) => {
    const ports = await freePorts();
    const environment = settingsOf({ dataDir, ports });
    // Without a predecessor a takeover is a start.
    const service = await startProcess({ dataDir, ports, command: ['serve', '--takeover'] });
    const expectUnchanged = async (): Promise<void> => {
      expect(pidIn(dataDir)).toBe(service.pid);
      expect(await service.isReady()).toBe(true);
    };
    await expectUnchanged();
    // The new process cannot start.
    const none = join(dataDir, 'none.pem');
    const tls = { QZ_REDIRECT_TLS_CERT_FILE: none, QZ_REDIRECT_TLS_KEY_FILE: none };
    const refused = await spawnCommand(['reload'], { ...environment, ...tls });
    const ended =
      /Cannot reload: the new process ended with exit code 1 \(reason above\), .* continues\n$/;
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringMatching(ended)]);
    await expectUnchanged();
    // It takes too long.
    service.signal('SIGSTOP');
    const late = await spawnCommand(['reload', '--timeout', '2'], environment);
    service.signal('SIGCONT');
    await expect.poll(() => service.isReady(), soon).toBe(true);
    const why = expect.stringContaining('did not serve within 2 s');
    expect([late.code, late.stderr]).toEqual([1, why]);
    await expectUnchanged();
    // Both processes end.
    const reload = startProgram(['reload'], { environment, stdio: ['ignore', 'pipe', 'pipe'] });
    const output = endOf(reload);
    const children = `/proc/${reload.pid}/task/${reload.pid}/children`;
    await expect.poll(() => readFileSync(children, 'utf8'), soon).not.toBe('');
    process.kill(Number(readFileSync(children, 'utf8')), 'SIGKILL');
    await pause(100);
    service.signal('SIGKILL');
    expect((await output).stderr).toMatch(
      /the new process was ended by SIGKILL, no service runs now: start it\n$/,
    );
  }));

test('a reload puts a new process in the place of the service, which ends with 0', () =>
  withDataFolder(async (dataDir) => {
    const ports = await freePorts();
    const service = await startProcess({ dataDir, ports });
    const environment = settingsOf({ dataDir, ports, environment: { QZ_LOG_LEVEL: 'debug' } });
    const reload = startProgram(['reload'], { environment, stdio: ['ignore', 'pipe', 'pipe'] });
    // To the end of what it starts, which has its output too.
    const output = endOf(reload);
    const [code] = await once(reload, 'exit');
    const successor = pidIn(dataDir);
    try {
      expect([code, await service.exit]).toEqual([0, { code: 0, signal: null }]);
      expect(service.complaints).toEqual([]);
      expect([successor, reload.pid]).not.toContain(service.pid);
      expect(await service.isReady()).toBe(true);
      const again = await runCommand(['serve'], environment);
      expect(again).toMatchObject({ code: 1, stdout: '' });
    } finally {
      process.kill(successor, 'SIGTERM');
    }
    const { stdout, stderr } = await output;
    expect(stdout).toContain(`Reloaded: process ${successor} has taken over\n`);
    expect(entriesOf(stderr).map(({ msg }) => msg)).toContain('ready');
    expect(existsSync(join(dataDir, 'service.pid'))).toBe(false);
  }));

test('after a new process has died, the old one redirects, and the next start takes over', () =>
  withDataFolder(async (dataDir) => {
    const ports = await freePorts();
    const service = await startProcess({ dataDir, ports });
    const dead = await findPredecessor(dataDir);
    await dead.yield();
    dead.close();
    const statusOf = async () => (await fetch(`${service.redirectUrl}/unknown`)).status;
    expect(await statusOf()).toBe(404);
    await expect(fetch(`${service.apiUrl}/health/ready`)).rejects.toThrow();
    const next = await startProcess({ dataDir, ports });
    expect(await service.exit).toEqual({ code: 0, signal: null });
    expect([await statusOf(), pidIn(dataDir)]).toEqual([404, next.pid]);
    expect(await next.isReady()).toBe(true);
    await next.terminate();
  }));

test('on a full disk nothing takes over, and the service continues', () =>
  withDataFolder(async (dataDir) => {
    const service = await startProcess({ dataDir });
    const limitFiles = (bytes: string): void =>
      void execFileSync('prlimit', ['--pid', String(service.pid), `--fsize=${bytes}:`]);
    const body = { target: 'https://example.com/' };
    const make = async () => (await service.api.post('/v1/qr-codes', body)).status;
    // LMDB's two meta pages: the rest of the file, and every other one, does not grow.
    limitFiles('8192');
    expect(await make()).toBe(507);
    await expect(findPredecessor(dataDir)).rejects.toThrow('the disk of the data folder is full');
    limitFiles('unlimited');
    await expect.poll(make, soon).toBe(201);
    (await findPredecessor(dataDir)).close();
    expect(await service.terminate()).toMatchObject({ code: 0, signal: null });
  }));

/** What a successor has that says what it should, and never serves. */
async function findPredecessor(dataDir: string): Promise<PredecessorConnection> {
  const hello = { release: '1.0.0', dataVersions };
  const log = createLog('fatal', process.stderr);
  const predecessor = await PredecessorConnection.find(openDataFolder(dataDir), hello, log);
  if (predecessor === undefined) throw new Error('no service to take over from');
  return predecessor;
}
