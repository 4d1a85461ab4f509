/** Every usual way to ask the service to stop drains it: by signal, early or repeated, and by way of npm. */
import { spawn, type StdioOptions } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { isListening } from '../../support/leaks.ts';
import {
  freePorts,
  ServiceProcess,
  settingsOf,
  startProcess,
  withDataFolder,
} from '../../support/process.ts';
import { environmentWith } from '../../support/program.ts';
import { soon } from '../../support/soon.ts';
import { Load, trustLoopback } from '../load.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const drained = { code: 0, signal: null };

it('SIGHUP drains it, whatever follows, and it exits with 0', () =>
  withDataFolder(async (dataDir) => {
    const service = await startProcess({ dataDir });
    // Reserved by Node for its inspector.
    service.signal('SIGUSR1');
    service.signal('SIGHUP');
    await service.waitForLog(/"msg":"stopping/, 20_000);
    for (const next of ['SIGHUP', 'SIGQUIT', 'SIGINT', 'SIGTERM'] as const) service.signal(next);
    expect(await service.exit).toEqual(drained);
    expect(service.stderr).not.toMatch(/debugger/i);
    expect(service.complaints).toEqual([]);
  }));

it('a signal before it is ready is kept until it is', () =>
  withDataFolder(async (dataDir) => {
    const service = new ServiceProcess({ dataDir, ports: await freePorts() });
    // Made after the handlers, before anything listens.
    await expect.poll(() => existsSync(join(dataDir, 'management.mdb')), soon).toBe(true);
    service.signal('SIGUSR2');
    expect(await service.exit).toEqual(drained);
  }));

it('SIGTERM to npm ends the service that `npm start` has started', () =>
  withDataFolder(async (dataDir) => {
    const ports = await freePorts();
    const env = environmentWith(settingsOf({ dataDir, ports }));
    // A group of its own: whatever a failure leaves of it is ended below.
    const stdio: StdioOptions = ['ignore', 'ignore', 'pipe'];
    const options = { cwd: root, env, stdio, detached: true };
    const npm = new ServiceProcess({
      dataDir,
      ports,
      start: () => spawn('npm', ['start'], options),
    });
    try {
      await npm.ready();
      npm.signal('SIGTERM');
      // The service has ended too when the last holder of the pipe has.
      await npm.exit;
      expect(npm.stderr).toContain('"msg":"stopping');
      expect(await isListening(ports.redirect)).toBe(false);
    } finally {
      if (await isListening(ports.redirect)) process.kill(-npm.pid, 'SIGKILL');
    }
  }));

/** SIGTERM under load: nothing in flight fails, not even what waits for the disk; it ends in time, the counts are exact. */

const endMsMax = 15_000;

it('ends well under load', () =>
  withDataFolder(async (dataDir) => {
    const environment = { ...trustLoopback, QZ_DURABILITY: 'power', QZ_REDIRECT_THREADS: '2' };
    const service = await startProcess({ dataDir, environment });
    const load = await Load.start(service, 5, 1_500);
    await load.isUnderWay();
    const { code, signal, ms } = await service.terminate();
    await load.stopWrites();
    const unanswered = await load.stopScans();
    expect([code, signal, unanswered]).toEqual([0, null, 0]);
    expect(ms).toBeLessThan(endMsMax);
    expect(service.complaints).toEqual([]);
    expect([undefined, 'ECONNREFUSED']).toContain(load.writesBrokenBy);
    const { answered, counted } = await load.expectKept();
    expect(counted).toBe(answered);
  }));
