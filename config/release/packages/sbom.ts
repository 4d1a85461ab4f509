/**
 * The software bill of materials, CycloneDX 1.6 as JSON: every package inside, each file of machine code with its
 * SHA-256, Node itself under the name that advisories use, the geo data, and what the image adds. Made with the
 * library of the CycloneDX project. Time and serial number come from the commit and the content.
 */
import { createHash } from 'node:crypto';
import { Enums, Models, Serialize, Spec } from '@cyclonedx/cyclonedx-library';
import { PackageURL } from 'packageurl-js';
import type { NativeFile } from '../../../src/shipped.ts';
import { distribution, type Library } from './libraries.ts';
import type { ThirdPartyPackage } from './licences.ts';

export interface SbomInputs {
  readonly version: string;
  /** Whole commit id. */
  readonly commit: string;
  /** `linux-x64` */
  readonly target: string;
  readonly time: Date;
  readonly packages: readonly ThirdPartyPackage[];
  readonly natives: readonly NativeFile[];
  /** In the image alone. */
  readonly libraries: readonly Library[];
}

/** Packages of data, not of code. */
const dataPackage = /^@ip-location-db\//;
/** Brings the executable of Node.js, whose version it has. */
const nodePackage = /^node-linux-/;

/** @throws Error for a licence that CycloneDX does not take */
export function sbomText(inputs: SbomInputs): string {
  const { version, commit, target, time } = inputs;
  const root = new Models.Component(Enums.ComponentType.Application, 'quietzone', {
    version,
    bomRef: 'quietzone',
    licenses: licencesOf('MIT'),
    purl: new PackageURL('generic', undefined, 'quietzone', version).toString(),
    properties: propertiesOf({ commit, target }),
  });
  const components = [
    ...inputs.packages.map(packageComponent),
    ...inputs.packages.filter(({ name }) => nodePackage.test(name)).map(nodeComponent),
    ...inputs.natives.map(nativeComponent),
    ...inputs.libraries.map(libraryComponent),
  ];
  for (const { bomRef } of components) root.dependencies.add(bomRef);
  const bom = new Models.Bom({
    metadata: new Models.Metadata({ timestamp: time, component: root }),
    components: new Models.ComponentRepository(components),
  });
  bom.serialNumber = serialNumberOf(serialize(bom));
  return `${serialize(bom)}\n`;
}

function serialize(bom: Models.Bom): string {
  const normalizers = new Serialize.JSON.Normalize.Factory(Spec.Spec1dot6);
  return new Serialize.JsonSerializer(normalizers).serialize(bom, { sortLists: true, space: 1 });
}

/** A UUID of version 8, whose bits are of the content's SHA-256 (RFC 9562). */
function serialNumberOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  const groups = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return `urn:uuid:${[...groups, hex.slice(20)].join('-')}`;
}

function packageComponent(one: ThirdPartyPackage): Models.Component {
  const { name, version, licence, integrity } = one;
  const [scope, base] = name.startsWith('@') ? name.split('/') : [undefined, name];
  const purl = new PackageURL('npm', scope, base ?? name, version).toString();
  const type = dataPackage.test(name) ? Enums.ComponentType.Data : Enums.ComponentType.Library;
  return new Models.Component(type, base ?? name, {
    ...(scope === undefined ? {} : { group: scope }),
    version,
    purl,
    bomRef: purl,
    licenses: licencesOf(licence),
    hashes: hashesOf(integrity),
    ...(one.note === undefined ? {} : { description: one.note }),
  });
}

function nodeComponent({ version, name }: ThirdPartyPackage): Models.Component {
  const purl = new PackageURL('generic', undefined, 'node', version).toString();
  return new Models.Component(Enums.ComponentType.Platform, 'node', {
    version,
    purl,
    bomRef: purl,
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
    licenses: licencesOf('MIT'),
    properties: propertiesOf({ package: name }),
  });
}

function nativeComponent(native: NativeFile): Models.Component {
  const { name, sha256 } = native;
  return new Models.Component(Enums.ComponentType.File, name, {
    bomRef: `file:${name}`,
    hashes: new Models.HashDictionary([[Enums.HashAlgorithm['SHA-256'], sha256]]),
    properties: propertiesOf({
      package: native.version === '' ? native.package : `${native.package}@${native.version}`,
    }),
  });
}

function libraryComponent(library: Library): Models.Component {
  const { name, version, architecture, sha256, licence } = library;
  const qualifiers = { arch: architecture, distro: distribution };
  const purl = new PackageURL('deb', 'debian', name, version, qualifiers).toString();
  return new Models.Component(Enums.ComponentType.Library, name, {
    version,
    purl,
    bomRef: purl,
    licenses: licencesOf(licence),
    hashes: new Models.HashDictionary([[Enums.HashAlgorithm['SHA-256'], sha256]]),
    properties: propertiesOf({ in: 'the image alone' }),
  });
}

function licencesOf(licence: string): Models.LicenseRepository {
  const isOne = /^[\w.-]+$/.test(licence);
  return new Models.LicenseRepository([
    isOne ? new Models.SpdxLicense(licence) : new Models.LicenseExpression(licence),
  ]);
}

/** Of `sha512-<base64>`. */
function hashesOf(integrity: string | undefined): Models.HashDictionary {
  const base64 = /^sha512-(.+)$/.exec(integrity ?? '')?.[1];
  if (base64 === undefined) return new Models.HashDictionary();
  const hex = Buffer.from(base64, 'base64').toString('hex');
  return new Models.HashDictionary([[Enums.HashAlgorithm['SHA-512'], hex]]);
}

function propertiesOf(values: Readonly<Record<string, string>>): Models.PropertyRepository {
  return new Models.PropertyRepository(
    Object.entries(values).map(([name, value]) => new Models.Property(`quietzone:${name}`, value)),
  );
}
