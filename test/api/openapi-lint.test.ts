/**
 * The OpenAPI document by the judgement of others: Spectral's rules for OpenAPI, all of them, and the
 * meta-schema of OpenAPI 3.1; and its size.
 */
import { readFileSync } from 'node:fs';
import spectralCore from '@stoplight/spectral-core';
import spectralRulesets from '@stoplight/spectral-rulesets';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestApi, type TestApp } from '../support/test-app.ts';

/** Of what is served, about 3 KB an operation: it was 688 KB when each operation repeated what all share. */
const documentBytesMax = 350_000;
const excepted: Readonly<Record<string, string>> = {
  'contact-properties': 'Who runs the installation is not known, so there is no e-mail address',
  'openapi-tags-alphabetical': 'The groups stand in the order in which one meets them, codes first',
};

const draft = 'json-schema.org/draft/2020-12/schema';

let app: TestApp;
let text: string;
let document: object;

beforeAll(async () => {
  app = await startTestApi();
  text = await (await fetch(`${app.url}/v1/openapi.json`)).text();
  document = JSON.parse(text);
});
afterAll(() => app.close());

test('Spectral has nothing to say by any of its OpenAPI rules', async () => {
  const spectral = new spectralCore.Spectral();
  const rules = Object.fromEntries(Object.keys(excepted).map((rule) => [rule, 'off']));
  spectral.setRuleset(
    new spectralCore.Ruleset({ extends: [[spectralRulesets.oas, 'all']], rules }),
  );
  expect(await spectral.run({ openapi: '3.1.0', paths: {} })).not.toEqual([]);
  const results = await spectral.run(text);
  const findings = results.map(
    ({ code, path, message }) => `${code}: ${path.join('.')}: ${message}`,
  );
  expect(findings).toEqual([]);
});

test('is valid by the meta-schema of OpenAPI 3.1', () => {
  const rulesets = new URL(import.meta.resolve('@stoplight/spectral-rulesets'));
  const readSchema = (name: string): object => {
    const file = new URL(`oas/schemas/oas/v3.1/${name}.json`, rulesets);
    const schema = readFileSync(file, 'utf8');
    // Spectral has the draft under an address of its own.
    return JSON.parse(schema.replaceAll('stoplight.io/json-schema/draft/2020-12', draft));
  };
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema([readSchema('dialect.schema'), readSchema('meta.schema')]);
  const validate = ajv.compile(readSchema('index'));
  expect([validate(document), validate.errors]).toEqual([true, null]);
  expect(validate(JSON.parse(text.replace('"type":"string"', '"type":"sting"')))).toBe(false);
});

test('is at most 350 KB', () => {
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(documentBytesMax);
});

test('its patterns mean the same with the `u` flag and without', () => {
  const patterns = [...text.matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)].map(
    ([, pattern = '""']): string => JSON.parse(pattern),
  );
  expect(patterns.length).toBeGreaterThan(10);
  for (const pattern of new Set(patterns)) {
    expect(() => new RegExp(pattern, 'u')).not.toThrow();
    // Escapes that only the flag gives a meaning to.
    expect(pattern).not.toMatch(/\\[pPu]\{/);
  }
});
