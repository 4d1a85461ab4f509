/**
 * The OpenAPI document by the judgement of others: Spectral's rules for OpenAPI, all of them, with the meta-schema of
 * OpenAPI 3.1 among them; and its size.
 */
import { beforeAll, expect, test } from 'vitest';
import { oncePassed } from './answers/once-passed.ts';
import { startTestApi } from '../support/test-app.ts';

/** Of what is served, about 3 KB an operation: it was 688 KB when each operation repeated what all share. */
const documentBytesMax = 350_000;
const excepted: Readonly<Record<string, string>> = {
  'contact-properties': 'Who runs the installation is not known, so there is no e-mail address',
  'openapi-tags-alphabetical': 'The groups stand in the order in which one meets them, codes first',
};

let text: string;

beforeAll(async () => {
  const app = await startTestApi();
  text = await (await fetch(`${app.url}/v1/openapi.json`)).text();
  await app.close();
});

async function findingsOf(documents: readonly string[]): Promise<string[][]> {
  const { default: core } = await import('@stoplight/spectral-core');
  const { default: rulesets } = await import('@stoplight/spectral-rulesets');
  const spectral = new core.Spectral();
  const rules = Object.fromEntries(Object.keys(excepted).map((rule) => [rule, 'off' as const]));
  spectral.setRuleset(new core.Ruleset({ extends: [[rulesets.oas, 'all']], rules }));
  const found: string[][] = [];
  for (const document of documents) {
    const results = await spectral.run(document);
    found.push(results.map(({ code, path, message }) => `${code}: ${path.join('.')}: ${message}`));
  }
  return found;
}

test('Spectral has nothing to say by any of its OpenAPI rules', async () => {
  await oncePassed(import.meta.filename, text, async () => {
    const schemas = { A: { type: 'sting' } };
    const broken = JSON.stringify({ openapi: '3.1.0', paths: {}, components: { schemas } });
    const [ofBroken, findings] = await findingsOf([broken, text]);
    for (const rule of [/^oas3-schema: components.schemas.A.type/, /^info-contact/]) {
      expect(ofBroken).toContainEqual(expect.stringMatching(rule));
    }
    expect(findings).toEqual([]);
  });
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
