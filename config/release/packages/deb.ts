/**
 * The Debian package, made by `dpkg-deb` of a folder that has what is installed:
 *
 *   /usr/bin/quietzone                          the executable
 *   /usr/lib/systemd/system/quietzone.service   neither enabled nor started by the package
 *   /usr/lib/sysctl.d/50-quietzone.conf         what a takeover needs of the kernel
 *   /etc/quietzone/environment                  its settings; an upgrade keeps the administrator's
 *   /usr/share/doc/quietzone/                   licenses: its own, and those of what is inside
 *   /usr/lib/quietzone/runtime/<id>/            laid out by postinst with `quietzone unpack`
 *
 * The service keeps its data in /var/lib/quietzone, which no script of the package touches. Compressed with zstd, which
 * every supported Debian and Ubuntu reads.
 */
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { glibcMin } from '../glibc.ts';
import { platforms, type Target } from '../natives.ts';
import { runTool } from '../tools.ts';

export interface DebInputs {
  /** The project's. */
  readonly root: string;
  /** Holds the executable and THIRD-PARTY.txt, and receives the package. */
  readonly folder: string;
  /** As in package.json. */
  readonly version: string;
  readonly target: Target;
  /** Of every file in it, in seconds since 1970. */
  readonly time: number;
}

/** @returns its name; undefined where `dpkg-deb` is missing */
export function makeDeb({ root, folder, version, target, time }: DebInputs): string | undefined {
  const parts = join(root, 'config/release/packages/debian');
  // Passwords may go into the environment; systemd reads it as root.
  const files: ReadonlyArray<readonly [path: string, mode: number, from: string]> = [
    ['usr/bin/quietzone', 0o755, join(folder, 'quietzone')],
    ['usr/lib/systemd/system/quietzone.service', 0o644, join(root, 'config/quietzone.service')],
    ['usr/lib/sysctl.d/50-quietzone.conf', 0o644, join(parts, 'sysctl.conf')],
    ['etc/quietzone/environment', 0o640, join(parts, 'environment')],
    ['usr/share/doc/quietzone/copyright', 0o644, join(root, 'LICENSE')],
    ['usr/share/doc/quietzone/THIRD-PARTY.txt', 0o644, join(folder, 'THIRD-PARTY.txt')],
    ...['postinst', 'prerm', 'postrm'].map(
      (name) => [`DEBIAN/${name}`, 0o755, join(parts, name)] as const,
    ),
  ];
  // `1.0.0-rc.1` comes before `1.0.0`: that is a tilde to dpkg.
  const debianVersion = version.replace('-', '~');
  const architecture = platforms[target].debian;
  const name = `quietzone_${debianVersion}_${architecture}.deb`;
  const tree = mkdtempSync(join(tmpdir(), 'quietzone-deb-'));
  const umask = process.umask(0o022);
  try {
    chmodSync(tree, 0o755);
    for (const [path, mode, from] of files) {
      mkdirSync(join(tree, dirname(path)), { recursive: true });
      copyFileSync(from, join(tree, path));
      chmodSync(join(tree, path), mode);
    }
    const control = [
      'Package: quietzone',
      `Version: ${debianVersion}`,
      `Architecture: ${architecture}`,
      'Maintainer: Quietzone contributors <quietzone@localhost.localdomain>',
      `Installed-Size: ${Math.ceil(statSync(join(folder, 'quietzone')).size / 1024)}`,
      `Depends: libc6 (>= ${glibcMin}), libgcc-s1, libstdc++6 (>= 11)`,
      'Section: web',
      'Priority: optional',
      'Description: self-hosted dynamic QR codes',
      ' Print a QR code once and change where it leads whenever you like. Every scan is',
      ' redirected and counted exactly once. One process and one data folder: no',
      ' database server, no queue.',
      ' .',
      ' Start it with: systemctl enable --now quietzone',
      '',
    ];
    writeFileSync(join(tree, 'DEBIAN/control'), control.join('\n'));
    writeFileSync(join(tree, 'DEBIAN/conffiles'), '/etc/quietzone/environment\n');
    const args = ['--root-owner-group', '-Zzstd', '-z19', '--build', tree, join(folder, name)];
    const made = runTool('dpkg-deb', args, { SOURCE_DATE_EPOCH: String(time) });
    return made === undefined ? undefined : name;
  } finally {
    process.umask(umask);
    rmSync(tree, { recursive: true, force: true });
  }
}
