import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { zstdDecompressSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { readAr, readTar, type Entry } from '../../../config/release/archive.ts';
import { debName, makeDeb, type DebInputs } from '../../../config/release/packages/deb.ts';

const inputs: DebInputs = {
  version: '1.2.3-rc.1',
  architecture: 'arm64',
  summary: 'dynamic QR codes',
  maintainer: 'A <a@example.com>',
  glibc: '2.34',
  runtimeId: '0123456789abcdef',
  executable: Buffer.alloc(3_000, 7),
  unit: '[Service]\n',
  licence: 'MIT License\n\nCopyright (c) 2026 Somebody\n\nPermission is granted.\n\nAS IS.\n',
  thirdParty: 'others\n',
  time: new Date('2026-11-22T10:00:00Z'),
  level: 3,
};

async function read(deb: Buffer): Promise<{ control: Entry[]; data: Entry[] }> {
  const [format, control, data, ...more] = readAr(deb);
  expect(more).toEqual([]);
  expect(format).toEqual({ name: 'debian-binary', content: Buffer.from('2.0\n') });
  expect([control?.name, data?.name]).toEqual(['control.tar.zst', 'data.tar.zst']);
  const unpacked = async (content = Buffer.alloc(0) as Uint8Array): Promise<Entry[]> =>
    readTar(zstdDecompressSync(content));
  return { control: await unpacked(control?.content), data: await unpacked(data?.content) };
}

function textOf(entries: readonly Entry[], path: string): string {
  const entry = entries.find((one) => one.path === path);
  if (entry?.type !== 'file') throw new Error(`${path} is not a file of the package`);
  return Buffer.from(entry.content).toString();
}

it('a package has the executable, its unit, its settings and its documents', async () => {
  const { data } = await read(await makeDeb(inputs));
  const files = data.filter(({ type }) => type === 'file');
  expect(files.map(({ path, mode, owner }) => [path, mode.toString(8), owner])).toEqual([
    ['etc/quietzone/environment', '640', 0],
    ['usr/bin/quietzone', '755', 0],
    ['usr/lib/sysctl.d/50-quietzone.conf', '644', 0],
    ['usr/lib/systemd/system/quietzone.service', '644', 0],
    ['usr/share/doc/quietzone/THIRD-PARTY.txt', '644', 0],
    ['usr/share/doc/quietzone/copyright', '644', 0],
  ]);
  expect(textOf(data, 'usr/bin/quietzone')).toBe(inputs.executable.toString());
  // Installed as it is, it changes nothing.
  const settings = textOf(data, 'etc/quietzone/environment').trim().split('\n');
  expect(settings.filter((line) => !line.startsWith('#'))).toEqual([]);
});

it('its control file says what dpkg asks for', async () => {
  const { control, data } = await read(await makeDeb(inputs));
  const text = textOf(control, 'control');
  expect(text).toContain('Package: quietzone\nVersion: 1.2.3~rc.1\nArchitecture: arm64\n');
  expect(text).toContain('Depends: libc6 (>= 2.34), libgcc-s1, libstdc++6 (>= 11)\n');
  // 3,000 bytes are 3 KiB; the five others one each.
  expect(text).toContain('Installed-Size: 8\n');
  expect(text.split('\nDescription: ')[1]).toMatch(/^dynamic QR codes\n( \S.*\n)+$/);
  expect(textOf(control, 'conffiles')).toBe('/etc/quietzone/environment\n');
  const sums = textOf(control, 'md5sums').trimEnd().split('\n');
  const md5 = (path: string): string =>
    `${createHash('md5').update(textOf(data, path)).digest('hex')}  ${path}`;
  const listed = data.filter(({ type, path }) => type === 'file' && !path.startsWith('etc/'));
  expect(sums).toEqual(listed.map(({ path }) => md5(path)));
});

it('an older glibc asks for an older libstdc++', async () => {
  const { control } = await read(await makeDeb({ ...inputs, glibc: '2.28' }));
  expect(textOf(control, 'control')).toContain('libc6 (>= 2.28), libgcc-s1, libstdc++6 (>= 8)');
});

it('its scripts are executable, stop at the first fault and know the runtime folder', async () => {
  const { control } = await read(await makeDeb(inputs));
  for (const name of ['postinst', 'prerm', 'postrm']) {
    expect(control.find(({ path }) => path === name)?.mode).toBe(0o755);
    expect(textOf(control, name)).toMatch(/^#!\/bin\/sh\n(#.*\n)+set -e\n/);
    expect(textOf(control, name)).not.toContain('@');
    expect(textOf(control, name)).not.toContain('/var/lib/quietzone"');
  }
  expect(textOf(control, 'postinst')).toContain('"$runtime/0123456789abcdef"');
});

it('an upgrade reloads a service that runs, and keeps what a process still runs from', async () => {
  const { control, data } = await read(await makeDeb(inputs));
  const script = textOf(control, 'postinst');
  expect(script).toMatch(/if \[ -n "\$2" \]; then\n( +#.*\n)+ +systemctl try-reload-or-restart /);
  expect(script).toContain('! grep -qsF "$folder/" /proc/[0-9]*/maps');
  const settings = textOf(data, 'usr/lib/sysctl.d/50-quietzone.conf').trim().split('\n');
  // The minus: a kernel without it is no fault.
  expect(settings.filter((line) => !line.startsWith('#'))).toEqual([
    '-net.ipv4.tcp_migrate_req = 1',
  ]);
});

it('the unit starts the service again without end, after pauses that grow', async () => {
  const unit = await readFile(
    new URL('../../../config/quietzone.service', import.meta.url),
    'utf8',
  );
  const [head, service] = unit.split('\n[Service]\n');
  expect(head).toMatch(/^StartLimitIntervalSec=0$/m);
  expect(service?.match(/^Restart.*$/gm)).toEqual([
    'Restart=always',
    'RestartSec=1s',
    'RestartSteps=5',
    'RestartMaxDelaySec=10s',
  ]);
});

it('its copyright file is in the machine-readable form', async () => {
  const { data } = await read(await makeDeb(inputs));
  expect(textOf(data, 'usr/share/doc/quietzone/copyright')).toContain(
    'Copyright: 2026 Somebody\nLicense: MIT\n Permission is granted.\n .\n AS IS.\n',
  );
});

it('the same inputs give the same package, and a name that sorts before the release', async () => {
  const [one, other] = [await makeDeb(inputs), await makeDeb(inputs)];
  expect(one.equals(other)).toBe(true);
  expect(debName('1.2.3-rc.1', 'arm64')).toBe('quietzone_1.2.3~rc.1_arm64.deb');
  expect(debName('1.2.3', 'amd64')).toBe('quietzone_1.2.3_amd64.deb');
});
