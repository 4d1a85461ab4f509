/**
 * The container image: an OCI image layout in one tar, made without a daemon. `podman load`, `skopeo copy oci-archive:…`
 * and Docker with containerd's image store read it by index.json, any other Docker by manifest.json. One layer:
 *
 *   usr/bin/quietzone                      the executable
 *   usr/lib/quietzone/runtime/<id>/        laid out as `quietzone unpack` does: root's, for all to read
 *   usr/lib/…, lib, lib64                  glibc, libstdc++, libgcc (libraries.ts)
 *   etc/passwd, group, nsswitch.conf       the user; names are looked up in /etc/hosts, then DNS
 *   data/, tmp/                            the only folders that are written to
 *
 * No shell, no package manager, no certificates: Node carries its own. It runs as 65532 with a read-only root.
 */
import { hash } from 'node:crypto';
import defaults from '../../default.json' with { type: 'json' };
import { fileEntry, writeTar, type Entry } from '../archive.ts';
import { gzip } from '../compress.ts';
import { installedRoot, readableByAll } from '../runtime-folder.ts';
import type { Architecture } from './libraries.ts';

export interface RuntimeFile {
  /** Relative to the runtime folder. */
  readonly name: string;
  /** As the pack has it, for the owner alone. */
  readonly mode: number;
  readonly content: Uint8Array;
}

export interface ImageInputs {
  readonly version: string;
  /** Whole commit id. */
  readonly commit: string;
  readonly summary: string;
  readonly architecture: Architecture;
  readonly executable: Uint8Array;
  readonly runtime: { readonly id: string; readonly files: readonly RuntimeFile[] };
  readonly libraries: readonly Entry[];
  readonly licence: string;
  readonly thirdParty: string;
  readonly time: Date;
}

/** No user of a host has it; other images without a shell use it too. */
const userId = 65_532;
const ports = [defaults.api.port, defaults.redirect.port];
const mediaTypes = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
};

interface Blob {
  readonly digest: string;
  readonly content: Buffer;
}

export function imageName(version: string): string {
  return `quietzone-${version}-oci.tar`;
}

/** @returns the bytes of the tar; the same inputs give the same */
export async function makeImage(inputs: ImageInputs): Promise<Buffer> {
  const { time, architecture, version } = inputs;
  const layer = await writeTar(layerEntries(inputs), { time });
  const packed = blob(await gzip(layer));
  const config = blob(json(configOf(inputs, blob(layer).digest)));
  const manifest = blob(
    json({
      schemaVersion: 2,
      mediaType: mediaTypes.manifest,
      config: descriptor(mediaTypes.config, config),
      layers: [descriptor(mediaTypes.layer, packed)],
      annotations: labelsOf(inputs),
    }),
  );
  const index = {
    schemaVersion: 2,
    mediaType: mediaTypes.index,
    manifests: [
      {
        ...descriptor(mediaTypes.manifest, manifest),
        platform: { architecture, os: 'linux' },
        annotations: {
          // The tag, for tools of OCI and for containerd.
          'org.opencontainers.image.ref.name': version,
          'io.containerd.image.name': `quietzone:${version}`,
        },
      },
    ],
  };
  const dockerManifest = [
    { Config: pathOf(config), RepoTags: [`quietzone:${version}`], Layers: [pathOf(packed)] },
  ];
  return await writeTar(
    [
      fileEntry('oci-layout', 0o644, json({ imageLayoutVersion: '1.0.0' })),
      fileEntry('index.json', 0o644, json(index)),
      fileEntry('manifest.json', 0o644, json(dockerManifest)),
      ...[packed, config, manifest].map((one) => fileEntry(pathOf(one), 0o644, one.content)),
    ],
    { time },
  );
}

function layerEntries(inputs: ImageInputs): Entry[] {
  const { runtime } = inputs;
  const folder = `${installedRoot.slice(1)}/${runtime.id}`;
  const user = `quietzone:x:${userId}:${userId}::/:/sbin/nologin\n`;
  return [
    fileEntry('usr/bin/quietzone', 0o755, inputs.executable),
    ...runtime.files.map(({ name, mode, content }) =>
      fileEntry(`${folder}/${name}`, readableByAll(mode), content),
    ),
    ...inputs.libraries,
    // As Debian has them: the loader is named by its path under lib64 or lib.
    { type: 'link', path: 'lib', mode: 0o777, target: 'usr/lib' },
    ...(inputs.architecture === 'amd64'
      ? [{ type: 'link', path: 'lib64', mode: 0o777, target: 'usr/lib64' } as const]
      : []),
    fileEntry('usr/share/doc/quietzone/LICENSE', 0o644, inputs.licence),
    fileEntry('usr/share/doc/quietzone/THIRD-PARTY.txt', 0o644, inputs.thirdParty),
    fileEntry('etc/passwd', 0o644, `root:x:0:0::/root:/sbin/nologin\n${user}`),
    fileEntry('etc/group', 0o644, `root:x:0:\nquietzone:x:${userId}:\n`),
    fileEntry('etc/nsswitch.conf', 0o644, 'hosts: files dns\n'),
    { type: 'folder', path: 'data', mode: 0o700, owner: userId },
    { type: 'folder', path: 'tmp', mode: 0o1777 },
  ];
}

/** Labels in the configuration, annotations in the manifest. */
function labelsOf({ version, commit, summary, time }: ImageInputs): Record<string, string> {
  return {
    'org.opencontainers.image.title': 'quietzone',
    'org.opencontainers.image.description': summary,
    'org.opencontainers.image.version': version,
    'org.opencontainers.image.revision': commit,
    'org.opencontainers.image.created': rfc3339(time),
    'org.opencontainers.image.licenses': 'MIT',
  };
}

function configOf(inputs: ImageInputs, layerDigest: string): object {
  const created = rfc3339(inputs.time);
  return {
    created,
    architecture: inputs.architecture,
    os: 'linux',
    config: {
      User: `${userId}:${userId}`,
      ExposedPorts: Object.fromEntries(ports.map((port) => [`${port}/tcp`, {}])),
      Env: ['QZ_DATA_DIR=/data', 'NODE_ENV=production'],
      Entrypoint: ['/usr/bin/quietzone'],
      Cmd: ['serve'],
      Volumes: { '/data': {} },
      WorkingDir: '/',
      Labels: labelsOf(inputs),
      StopSignal: 'SIGTERM',
    },
    rootfs: { type: 'layers', diff_ids: [layerDigest] },
    history: [{ created, created_by: 'quietzone' }],
  };
}

function descriptor(mediaType: string, { digest, content }: Blob): object {
  return { mediaType, digest, size: content.length };
}

function blob(content: Buffer): Blob {
  return { digest: `sha256:${hash('sha256', content, 'hex')}`, content };
}

function pathOf({ digest }: Blob): string {
  return `blobs/${digest.replace(':', '/')}`;
}

function json(value: object): Buffer {
  return Buffer.from(JSON.stringify(value));
}

/** Whole seconds, as everywhere in the artifacts. */
function rfc3339(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, 'Z');
}
