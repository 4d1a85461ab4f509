/** `quietzone reload` and what it starts, as processes: what an operator and systemd see of a takeover. */
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import {
  endOf,
  entriesOf,
  freePorts,
  runCommand,
  settingsOf,
  spawnCommand,
  startProcess,
  withDataFolder,
} from '../../support/process.ts';
import { startProgram } from '../../support/program.ts';
import { soon } from '../../support/soon.ts';
import { findPredecessor } from './successor.ts';

const pidIn = (dataDir: string): number =>
  Number(readFileSync(join(dataDir, 'service.pid'), 'utf8'));

/** The service closes a connection that asks for nothing after 8 s, and a successor may boot for longer. */
function callAgainAndAgain(port: number): { end(): void } {
  const phones: Socket[] = [];
  const calls = setInterval(() => {
    const phone = connect(port, '127.0.0.1');
    phone.on('error', () => undefined);
    phones.push(phone);
  }, 250);
  return {
    end() {
      clearInterval(calls);
      for (const phone of phones) phone.destroy();
    },
  };
}

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
      expect((await fetch(`${service.apiUrl}/health/ready`)).status).toBe(200);
    };
    await expectUnchanged();
    // The new process cannot start.
    const none = join(dataDir, 'none.pem');
    const broken = {
      ...environment,
      QZ_REDIRECT_TLS_CERT_FILE: none,
      QZ_REDIRECT_TLS_KEY_FILE: none,
    };
    const refused = await spawnCommand(['reload'], broken);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/Cannot reload: the new process ended with exit code 1, .* goes on\n$/),
    ]);
    await expectUnchanged();
    // It takes too long.
    service.signal('SIGSTOP');
    const late = await spawnCommand(['reload', '--timeout', '2'], environment);
    service.signal('SIGCONT');
    expect([late.code, late.stderr]).toEqual([
      1,
      expect.stringContaining('not taken over within 2 s'),
    ]);
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
      /the new process was ended by SIGKILL, and no service runs on .* now: start it\n$/,
    );
  }));

test('a reload puts a new process in the place of the service, which ends with 0', () =>
  withDataFolder(async (dataDir) => {
    const ports = await freePorts();
    const service = await startProcess({ dataDir, ports });
    const environment = settingsOf({ dataDir, ports, environment: { QZ_LOG_LEVEL: 'debug' } });
    const reload = startProgram(['reload'], { environment, stdio: ['ignore', 'pipe', 'pipe'] });
    const phones = callAgainAndAgain(ports.redirect);
    // To the end of what it starts, which has its output too.
    const output = endOf(reload);
    const [code] = await once(reload, 'exit');
    const successor = pidIn(dataDir);
    try {
      const refusal = /^Cannot take over: .* still answers open connections; try again/;
      await expect(findPredecessor(dataDir)).rejects.toThrow(refusal);
      phones.end();
      expect([code, await service.exit]).toEqual([0, { code: 0, signal: null }]);
      expect(service.complaints).toEqual([]);
      expect(successor).not.toBe(service.pid);
      expect([successor, reload.pid]).not.toContain(service.pid);
      expect((await fetch(`${service.apiUrl}/health/ready`)).status).toBe(200);
      const again = await runCommand(['serve'], environment);
      expect(again).toMatchObject({ code: 1, stdout: '' });
    } finally {
      phones.end();
      process.kill(successor, 'SIGTERM');
    }
    const { stderr } = await output;
    expect(entriesOf(stderr).map(({ msg }) => msg)).toContain('ready');
    expect(existsSync(join(dataDir, 'service.pid'))).toBe(false);
  }));
