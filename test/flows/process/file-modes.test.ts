/** Who may read what the service writes: the owner alone, whatever umask it was started with. */
import { chmodSync, lstatSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  freePorts,
  runCommand,
  ServiceProcess,
  spawnCommand,
  withDataFolder,
} from '../../support/process.ts';
import { TestService } from '../../support/test-service.ts';

/** Files and folders that others may do anything with, as `mode name`. */
function openIn(folder: string): string[] {
  const names = ['.', ...readdirSync(folder, { recursive: true, encoding: 'utf8' })];
  return names.flatMap((name) => {
    const { mode } = lstatSync(join(folder, name));
    return (mode & 0o077) === 0 ? [] : [`${(mode & 0o777).toString(8)} ${name}`];
  });
}

const logo = `data:image/svg+xml;base64,${Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>',
).toString('base64')}`;

test('the data folder and its backups are for their owner alone', () =>
  withDataFolder(async (parent) => {
    const before = process.umask(0o022);
    onTestFinished(() => void process.umask(before));
    const dataDir = join(parent, 'data');
    const ports = await freePorts();
    const first = new ServiceProcess({ dataDir, ports });
    await first.ready();
    await first.makeCode({ slug: 'modes', design: { logo } });
    await first.scan('modes');
    const backup = join(parent, 'backup');
    const environment = { QZ_DATA_DIR: dataDir };
    expect(await spawnCommand(['backup', backup], environment)).toMatchObject({ code: 0 });
    expect(readdirSync(join(dataDir, 'journal', '0')).length).toBeGreaterThan(0);
    expect([...openIn(dataDir), ...openIn(backup)]).toEqual([]);
    expect(await first.terminate()).toMatchObject({ code: 0 });

    chmodSync(dataDir, 0o755);
    // The folder may be reached by a link.
    const link = join(parent, 'link');
    symlinkSync(dataDir, link);
    const doctor = await runCommand(['doctor'], { QZ_DATA_DIR: link });
    expect(doctor.code).toBe(1);
    expect(doctor.stdout).toMatch(/^BAD {2}data folder is open to other users \(755\), exp/m);
    // As `quietzone serve` sets it.
    process.umask(0o077);
    const again = await TestService.start({ dataDir: link, ports });
    expect(openIn(dataDir)).toEqual([]);
    expect((await runCommand(['doctor'], environment)).stdout).toContain(
      'ok   data folder is closed to other users',
    );
    await again.close();
  }));
