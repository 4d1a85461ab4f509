import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { readTar, type Entry } from '../../../config/release/archive.ts';
import { imageName, makeImage, type ImageInputs } from '../../../config/release/packages/image.ts';

const inputs: ImageInputs = {
  version: '1.2.3',
  commit: 'c0ffee',
  summary: 'dynamic QR codes',
  architecture: 'amd64',
  executable: Buffer.from('program'),
  runtime: {
    id: '0123456789abcdef',
    files: [
      { name: 'main.mjs', mode: 0o400, content: Buffer.from('code') },
      { name: 'native/lmdb.node', mode: 0o500, content: Buffer.from('elf') },
    ],
  },
  libraries: [
    {
      type: 'file',
      path: 'usr/lib/x86_64-linux-gnu/libc.so.6',
      mode: 0o755,
      content: Buffer.from('libc'),
    },
  ],
  licence: 'MIT\n',
  thirdParty: 'others\n',
  time: new Date('2026-11-22T10:00:00.000Z'),
};

type Files = ReadonlyMap<string, Buffer>;

async function filesOf(image: Buffer): Promise<Files> {
  const entries = await readTar(image);
  return new Map(
    entries.flatMap((entry) =>
      entry.type === 'file' ? [[entry.path, Buffer.from(entry.content)] as const] : [],
    ),
  );
}

/** The JSON document or layer that a descriptor names; digest and size are checked on the way. */
function follow(files: Files, descriptor: Descriptor): Buffer {
  const content = files.get(`blobs/${descriptor.digest.replace(':', '/')}`);
  if (content === undefined) throw new Error(`there is no ${descriptor.digest}`);
  expect(content.length).toBe(descriptor.size);
  expect(`sha256:${createHash('sha256').update(content).digest('hex')}`).toBe(descriptor.digest);
  return content;
}

interface Descriptor {
  readonly digest: string;
  readonly size: number;
}

async function open(image: Buffer): Promise<{ config: unknown; layer: Buffer; entries: Entry[] }> {
  const files = await filesOf(image);
  expect(String(files.get('oci-layout'))).toBe('{"imageLayoutVersion":"1.0.0"}');
  const index = JSON.parse(String(files.get('index.json'))) as { manifests: [Descriptor] };
  const manifest = JSON.parse(String(follow(files, index.manifests[0]))) as {
    config: Descriptor;
    layers: [Descriptor];
  };
  expect(index.manifests).toMatchObject([{ platform: { architecture: 'amd64', os: 'linux' } }]);
  const config: unknown = JSON.parse(String(follow(files, manifest.config)));
  const layer = gunzipSync(follow(files, manifest.layers[0]));
  const docker: unknown = JSON.parse(String(files.get('manifest.json')));
  const pathOf = ({ digest }: Descriptor): string => `blobs/${digest.replace(':', '/')}`;
  expect(docker).toEqual([
    {
      Config: pathOf(manifest.config),
      RepoTags: ['quietzone:1.2.3'],
      Layers: manifest.layers.map(pathOf),
    },
  ]);
  // Besides the three documents at the top, nothing that is not named.
  expect(files.size).toBe(3 + 3);
  return { config, layer, entries: await readTar(layer) };
}

it('an image is one layer that its configuration names by the digest of its plain bytes', async () => {
  const { config, layer } = await open(await makeImage(inputs));
  const digest = `sha256:${createHash('sha256').update(layer).digest('hex')}`;
  expect(config).toMatchObject({
    architecture: 'amd64',
    os: 'linux',
    created: '2026-11-22T10:00:00Z',
    rootfs: { type: 'layers', diff_ids: [digest] },
  });
});

it('an image serves as a user without rights, with its data in a volume', async () => {
  const { config } = await open(await makeImage(inputs));
  expect(config).toMatchObject({
    config: {
      User: '65532:65532',
      Entrypoint: ['/usr/bin/quietzone'],
      Cmd: ['serve'],
      Env: expect.arrayContaining(['QZ_DATA_DIR=/data']),
      ExposedPorts: { '8080/tcp': {}, '8081/tcp': {} },
      Volumes: { '/data': {} },
      StopSignal: 'SIGTERM',
      Labels: {
        'org.opencontainers.image.version': '1.2.3',
        'org.opencontainers.image.revision': 'c0ffee',
      },
    },
  });
});

it('everything in an image is root’s and readable by all, but for the data folder', async () => {
  const { entries } = await open(await makeImage(inputs));
  const listed = entries.map(({ path, mode, owner }) => `${mode.toString(8)} ${owner} ${path}`);
  expect(listed).toEqual([
    '700 65532 data',
    '755 0 etc',
    '644 0 etc/group',
    '644 0 etc/nsswitch.conf',
    '644 0 etc/passwd',
    '777 0 lib',
    '777 0 lib64',
    '1777 0 tmp',
    '755 0 usr',
    '755 0 usr/bin',
    '755 0 usr/bin/quietzone',
    '755 0 usr/lib',
    '755 0 usr/lib/quietzone',
    '755 0 usr/lib/quietzone/runtime',
    '755 0 usr/lib/quietzone/runtime/0123456789abcdef',
    '444 0 usr/lib/quietzone/runtime/0123456789abcdef/main.mjs',
    '755 0 usr/lib/quietzone/runtime/0123456789abcdef/native',
    '555 0 usr/lib/quietzone/runtime/0123456789abcdef/native/lmdb.node',
    '755 0 usr/lib/x86_64-linux-gnu',
    '755 0 usr/lib/x86_64-linux-gnu/libc.so.6',
    '755 0 usr/share',
    '755 0 usr/share/doc',
    '755 0 usr/share/doc/quietzone',
    '644 0 usr/share/doc/quietzone/LICENSE',
    '644 0 usr/share/doc/quietzone/THIRD-PARTY.txt',
  ]);
});

it('the loader of arm64 lies under lib, there is no lib64', async () => {
  const image = await makeImage({ ...inputs, architecture: 'arm64' });
  expect(image.includes('"architecture":"arm64"')).toBe(true);
  const files = await filesOf(image);
  const layer = [...files.values()].find((bytes) => bytes[0] === 0x1f && bytes[1] === 0x8b);
  const entries = await readTar(gunzipSync(layer ?? Buffer.alloc(0)));
  expect(entries.filter(({ type }) => type === 'link').map(({ path }) => path)).toEqual(['lib']);
});

it('the same inputs give the same image', async () => {
  const [one, other] = [await makeImage(inputs), await makeImage(inputs)];
  expect(one.equals(other)).toBe(true);
  expect(imageName('1.2.3')).toBe('quietzone-1.2.3-oci.tar');
});
