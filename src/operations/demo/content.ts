/**
 * The chain of restaurants of the demo: content.json, typed. A restaurant prints the codes of `prints`, with its changes, and
 * its own code. Days are counted back from the day of the demo; negative = in the future.
 *
 *   {city}, {dark} ...   in a print: words and colors of its restaurant
 *   scans                pattern -> scans on an ordinary day in a restaurant of weight 1; `hours` and `weekdays` divide them
 *   cities               country, language, weight among travelers, first three bytes of networks of 1,024 addresses that the bundled geo table maps to that city; the demo never contacts them
 */
import content from './content.json' with { type: 'json' };

type Numbers = Readonly<Record<string, number>>;

export interface Print {
  /** As in the API; `page` is the target of a dynamic code. */
  readonly code?: { readonly name: string; readonly page?: string; readonly tags?: string[] };
  readonly design?: object;
  /** Label -> condition, label -> weight; the label is the last part of the target. */
  readonly rules?: Readonly<Record<string, object>>;
  readonly split?: Numbers;
  readonly startsAt?: number;
  readonly expiresAt?: number;
  readonly scanLimit?: number;
  readonly scans?: Numbers;
  /** The day of its removal. */
  readonly until?: number;
  /** An evening with more guests. */
  readonly event?: { readonly day: number; readonly times: number };
}

type Prints = Readonly<Record<string, Print>>;

export interface Restaurant {
  readonly words: { readonly city: string; readonly street: string; readonly timezone: string };
  readonly colors: Readonly<Record<string, string>>;
  /** SVG path, 64 units wide. */
  readonly sign: string;
  readonly usual: { readonly weight: number; readonly closed?: string; readonly opened?: number };
  /** City -> weight. */
  readonly guests: Numbers;
  /** By slug. */
  readonly prints: Prints;
}

const common: Prints = content.prints;

/** In the order of their opening. */
export const restaurants = Object.entries<Restaurant>(content.restaurants).map(
  ([prefix, { prints, ...restaurant }]): Restaurant => {
    const all = Object.entries({ ...common, ...prints }).map(([suffix, change]) => {
      const print = common[suffix];
      const merged = { ...print, ...change, code: { name: '', ...print?.code, ...change.code } };
      return [`${prefix}-${suffix}`, merged] as const;
    });
    return { ...restaurant, prints: Object.fromEntries(all) };
  },
);

export const hours: Readonly<Record<string, readonly number[]>> = content.hours;
export const weekdayFactors: Readonly<Record<string, readonly number[]>> = content.weekdays;
export const { people, bots, referers } = content;

/** Addresses of a network. */
export const networkSize = 1_024;

export const cities = new Map(
  Object.entries<string>(content.cities).map(([name, text]) => {
    const [country = '', language = '', travelers, ...rest] = text.split(' ');
    const networks = rest.map((network) =>
      Buffer.from(`${network}.0`.split('.').map(Number)).readUInt32BE(),
    );
    return [name, { country, language, travelers: Number(travelers), networks }];
  }),
);

export const site = 'https://saffron-and-rye.example';

export const logoOf = ({ sign, colors: { dark } }: Restaurant): string =>
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64">' +
  `<rect width="64" height="64" rx="14" fill="${dark}"/><path d="${sign}" fill="none" ` +
  'stroke="#fff" stroke-width="5" stroke-linecap="round" stroke-linejoin="round"/></svg>';

/** Bodies of requests that make its codes. @param time of a day @param share of the standard size of the demo */
export function bodiesOf(
  { words, colors, prints }: Restaurant,
  logo: string,
  time: (ago: number) => string,
  share: number,
): unknown {
  const path = words.city.toLowerCase();
  const home = `${site}/${path}`;
  const values: Readonly<Record<string, string>> = { ...words, ...colors, path, home, logo };
  const bodies = Object.entries(prints).map(([slug, { code, ...print }]) => {
    const { page, name, tags = ['offer'], ...more } = code ?? {};
    const { rules = {}, split, startsAt, expiresAt, scanLimit } = print;
    const at = (label: string) => ({ target: `{home}/${page}/${label}` });
    const route = ([label, condition]: [string, object]) => ({
      label,
      if: condition,
      then: at(label),
    });
    const variant = ([label, weight]: [string, number]) => ({ label, weight, ...at(label) });
    const dynamic = page !== undefined && {
      slug,
      externalId: slug.toLowerCase(),
      target: `{home}/${page}`,
      rules: Object.entries(rules).map(route),
      split: split && Object.entries(split).map(variant),
      fallbackUrl: (expiresAt ?? scanLimit) && '{home}/offers',
      startsAt: startsAt && time(startsAt),
      expiresAt: expiresAt && time(expiresAt),
      scanLimit: scanLimit && Math.ceil(scanLimit * share),
    };
    return {
      ...more,
      name: `{city} · ${name}`,
      tags: [...tags, '{path}'],
      design: { ...content.design, ...print.design },
      ...(dynamic || { dynamic }),
    };
  });
  const fill = (whole: string, word: string): string => values[word] ?? whole;
  return JSON.parse(JSON.stringify(bodies).replaceAll(/\{(\w+)\}/g, fill));
}
