/**
 * The software bill of materials, as `npm sbom` writes it of package-lock.json (CycloneDX): of its packages those that are
 * inside, and Node itself under the name that advisories use.
 */
import { execFileSync } from 'node:child_process';
import type { ThirdPartyPackage } from './licenses.ts';

interface Document {
  serialNumber?: string;
  readonly metadata: { timestamp: string; component: { name: string; version: string } };
  components: Array<{ readonly 'bom-ref': string }>;
  dependencies: Array<{ readonly ref: string; dependsOn: string[] }>;
}

/** @param root the project's folder @param time of the build */
export function sbomText(root: string, packages: readonly ThirdPartyPackage[], time: Date): string {
  const args = [
    'sbom',
    '--package-lock-only',
    '--sbom-format=cyclonedx',
    '--sbom-type=application',
  ];
  const options = { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 } as const;
  const sbom: Document = JSON.parse(execFileSync('npm', args, options));
  // Another one at each call; a document needs none.
  delete sbom.serialNumber;
  const inside = new Set(packages.map(({ name, version }) => `${name}@${version}`));
  const { metadata } = sbom;
  metadata.timestamp = time.toISOString();
  // npm names it after the folder.
  metadata.component.name = 'quietzone';
  const node = packages.find(({ name }) => name.startsWith('node-linux-'));
  sbom.components = sbom.components.filter((one) => inside.has(one['bom-ref']));
  sbom.components.push(...(node === undefined ? [] : [nodeComponent(node.version)]));
  const own = `quietzone@${metadata.component.version}`;
  sbom.dependencies = sbom.dependencies
    .filter(({ ref }) => ref === own || inside.has(ref))
    .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((one) => inside.has(one)) }));
  return `${JSON.stringify(sbom, undefined, 1)}\n`;
}

const nodeComponent = (version: string) => ({
  'bom-ref': `pkg:generic/node@${version}`,
  type: 'platform',
  name: 'node',
  version,
  purl: `pkg:generic/node@${version}`,
  cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
});
