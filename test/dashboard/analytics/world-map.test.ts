/** The atlas and the table of its numbers: each knows every country of the other, so that no scan is lost on the map. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { lettersOf, smallPlaces } from '../../../src/dashboard/analytics/map/country-codes.ts';
import { type Atlas, worldOf } from '../../../src/dashboard/analytics/map/shapes.ts';

const file = new URL(import.meta.resolve('world-atlas/countries-110m.json'));
const atlas: Atlas = JSON.parse(readFileSync(file, 'utf8'));
const world = worldOf(atlas);
const regions = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
const nameOf = (letters: string): string => regions.of(letters) ?? '';
const countries = atlas.objects.countries.geometries;

test('every numbered country of the atlas has the letters of its name', () => {
  const numbers = countries.flatMap(({ id }) => (id === undefined ? [] : [String(id)]));
  expect(numbers.toSorted()).toEqual([...lettersOf.keys()].toSorted());
  const same = countries.filter(
    ({ id, properties }) =>
      nameOf(lettersOf.get(String(id)) ?? 'ZZ') === Reflect.get(Object(properties), 'name'),
  );
  // The others are shortened there: `Dem. Rep. Congo`.
  expect(same.length).toBe(155);
  const letters = [...lettersOf.values(), ...smallPlaces.map(({ key }) => key)];
  expect(new Set(letters).size).toBe(letters.length);
  expect(letters.filter((key) => nameOf(key) === '')).toEqual([]);
});

test('all lands are drawn but Antarctica, two without letters, and each within the plane', () => {
  expect(world.lands.length).toBe(countries.length - 1);
  expect(world.lands.filter(({ key }) => key === undefined).length).toBe(2);
  expect(world.lands.some(({ key }) => key === 'XK')).toBe(true);
  for (const { path, at } of [...world.lands, ...world.dots]) {
    expect(path).toMatch(/^M[\d.,]/);
    for (const part of at) expect(part >= 0 && part <= 1).toBe(true);
  }
});

test('the middle of France is in France, and Singapore is a dot on its place', () => {
  const at = (key: string) => [...world.lands, ...world.dots].find((one) => one.key === key)?.at;
  const [france, germany, spain] = [at('FR'), at('DE'), at('ES')];
  expect(france && spain && france[0] > spain[0] && france[1] < spain[1]).toBe(true);
  expect(france && germany && france[0] < germany[0]).toBe(true);
  const [singapore, indonesia, thailand] = [at('SG'), at('ID'), at('TH')];
  expect(singapore && indonesia && singapore[0] < indonesia[0]).toBe(true);
  expect(singapore && thailand && singapore[1] > thailand[1]).toBe(true);
});
