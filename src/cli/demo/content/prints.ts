/**
 * What a restaurant prints: ten codes each, sixty in all. A print says how its code is made (the body of a request to the
 * API), and how people scan it.
 *
 *   pattern   at which hours of the day, by the restaurant's clock (traffic.ts)
 *   scans     how many on an ordinary day, in a restaurant of weight 1
 */
import type { Design } from '../../../model/design.ts';
import { isoTime } from '../../../model/day.ts';
import type { Pattern } from './hours.ts';
import type { Restaurant } from './restaurants.ts';

export interface Print {
  readonly slug: string;
  /** As `POST /qr-codes` takes it. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly pattern: Pattern;
  readonly scans: number;
  readonly story?: Story;
}

/** What happens to a print, in days before today. */
export type Story =
  /** Taken down: nobody scans it any more. */
  | { readonly kind: 'silent'; readonly sinceDays: number }
  /** An evening at which many come. */
  | { readonly kind: 'event'; readonly daysBefore: number; readonly times: number };

export interface Printing {
  readonly restaurant: Restaurant;
  /** The stored logo's id. */
  readonly logo: string;
  /** Midnight UTC of so many days before today; negative = to come. */
  readonly dayMs: (daysBefore: number) => number;
  /** Its scans as a share of those of a demo of the standard size. */
  readonly share: number;
}

export const site = 'https://saffron-and-rye.example';

export function printsOf(printing: Printing): readonly Print[] {
  return [...tables(printing), ...menus(printing), ...street(printing), special(printing)];
}

function print(
  { restaurant: { prefix, city, path }, logo }: Printing,
  given: Omit<Print, 'slug' | 'body'> & {
    readonly suffix: string;
    readonly name: string;
    readonly page: string;
    readonly tags: readonly string[];
    readonly design: Design;
    readonly withLogo?: true;
    readonly more?: Readonly<Record<string, unknown>>;
  },
): Print {
  const { suffix, name, page, tags, design, withLogo, more, ...traffic } = given;
  const slug = `${prefix}-${suffix}`;
  const body = {
    slug,
    name: `${city} · ${name}`,
    target: `${site}/${path}/${page}`,
    tags: [...tags, path],
    externalId: slug.toLowerCase(),
    design: withLogo ? { ...design, logo } : design,
    ...more,
  };
  return { slug, body, ...traffic };
}

function tables(printing: Printing): readonly Print[] {
  const { dark, accent, paper } = printing.restaurant;
  const styles: readonly Design[] = [
    { foreground: dark, background: paper, dotStyle: 'rounded', eyeStyle: 'rounded' },
    { foreground: dark, background: paper, dotStyle: 'dots', eyeStyle: 'circle', eyeColor: accent },
    {
      foreground: dark,
      background: paper,
      dotStyle: 'square',
      eyeStyle: 'rounded',
      eyeColor: accent,
    },
  ];
  const inside = styles.map((design, index) =>
    print(printing, {
      suffix: `T${index + 1}`,
      name: `Table ${index + 1}`,
      page: `order?table=${index + 1}`,
      tags: ['table'],
      pattern: 'table',
      scans: 52 - 7 * index,
      design,
    }),
  );
  const terrace = print(printing, {
    suffix: 'TERRACE',
    name: 'Terrace',
    page: 'order?table=terrace',
    tags: ['table', 'terrace'],
    pattern: 'afternoon',
    scans: 40,
    design: {
      gradient: { from: dark, to: accent },
      background: paper,
      dotStyle: 'dots',
      eyeStyle: 'circle',
    },
  });
  return [...inside, terrace];
}

function menus(printing: Printing): readonly Print[] {
  const { dark, accent, paper, timezone, path } = printing.restaurant;
  const page = (name: string): string => `${site}/${path}/${name}`;
  const inLanguage = (label: string, language: string) => ({
    label,
    if: { language: [language] },
    then: { target: page(`menu/${language}`) },
  });
  const lunch = {
    label: 'lunch',
    if: {
      time: { days: ['mon', 'tue', 'wed', 'thu', 'fri'], from: '11:30', to: '15:00', timezone },
    },
    then: { target: page('menu/lunch') },
  };
  const rules: Readonly<Record<string, readonly object[]>> = {
    berlin: [lunch, inLanguage('english', 'en'), inLanguage('french', 'fr')],
    zurich: [inLanguage('french', 'fr'), inLanguage('english', 'en')],
    lisbon: [
      { label: 'from-brazil', if: { country: ['BR'] }, then: { target: page('menu/ola-brasil') } },
      inLanguage('english', 'en'),
      inLanguage('spanish', 'es'),
    ],
  };
  const own = rules[path];
  return [
    print(printing, {
      suffix: 'MENU',
      name: 'Menu card',
      page: 'menu',
      tags: ['menu'],
      pattern: 'table',
      scans: 78,
      design: { foreground: dark, background: paper, dotStyle: 'rounded', eyeColor: accent },
      withLogo: true,
      ...(own && { more: { rules: own } }),
    }),
    print(printing, {
      suffix: 'LUNCH',
      name: 'Lunch board',
      page: 'menu/lunch',
      tags: ['menu', 'lunch'],
      pattern: 'lunch',
      scans: 46,
      design: { foreground: accent, background: paper, dotStyle: 'square', eyeColor: dark },
    }),
  ];
}

function street(printing: Printing): readonly Print[] {
  return [poster(printing), bag(printing), receipt(printing)];
}

function poster(printing: Printing): Print {
  const { dark, accent, paper, path, street: name } = printing.restaurant;
  const stories: Readonly<Record<string, Story>> = {
    berlin: { kind: 'silent', sinceDays: 17 },
    lisbon: { kind: 'event', daysBefore: 24, times: 22 },
  };
  const story = stories[path];
  const apps = [
    { label: 'app-store', if: { os: ['iOS'] }, then: { target: 'https://apps.apple.com/app/id1' } },
    {
      label: 'google-play',
      if: { os: ['Android'] },
      then: { target: 'https://play.google.com/store/apps/details?id=example.saffron' },
    },
  ];
  return print(printing, {
    suffix: 'POSTER',
    name: path === 'lisbon' ? 'Festival poster' : `Poster, ${name}`,
    page: 'visit',
    tags: ['poster', 'street'],
    pattern: 'street',
    scans: 34,
    design: {
      gradient: { from: dark, to: accent, type: 'radial' },
      background: paper,
      dotStyle: 'rounded',
      eyeStyle: 'rounded',
      eyeColor: dark,
    },
    withLogo: true,
    more: {
      utm: { source: 'poster', medium: 'print', campaign: path },
      ...(path === 'london' && { rules: apps }),
    },
    ...(story && { story }),
  });
}

function bag(printing: Printing): Print {
  const { dark, accent, path } = printing.restaurant;
  const isTried = path === 'berlin' || path === 'london' || path === 'chicago';
  const split = [
    { label: 'points', target: `${site}/rewards/points`, weight: 50 },
    { label: 'free-dessert', target: `${site}/rewards/dessert`, weight: 50 },
  ];
  return print(printing, {
    suffix: 'BAG',
    name: 'Takeaway bag',
    page: 'reorder',
    tags: ['takeaway'],
    pattern: 'evening',
    scans: 44,
    design: { foreground: dark, dotStyle: 'rounded', eyeStyle: 'circle', eyeColor: accent },
    withLogo: true,
    ...(isTried && { more: { split } }),
  });
}

function receipt(printing: Printing): Print {
  const { dark } = printing.restaurant;
  return print(printing, {
    suffix: 'RECEIPT',
    name: 'Receipt',
    page: 'rewards',
    tags: ['receipt', 'rewards'],
    pattern: 'table',
    scans: 30,
    design: { foreground: dark, dotStyle: 'square', eyeStyle: 'square' },
    withLogo: true,
  });
}

/** One of its own in each restaurant: every state that a code can be in, and two that hold their content. */
function special(printing: Printing): Print {
  const { restaurant, dayMs, share } = printing;
  const { dark, accent, paper, path, city } = restaurant;
  const design: Design = {
    foreground: dark,
    background: paper,
    dotStyle: 'rounded',
    eyeStyle: 'circle',
    eyeColor: accent,
  };
  const ended = `${site}/${path}/offers`;
  const given = (name: string, suffix: string, scans: number, more: object): Print =>
    print(printing, {
      suffix,
      name,
      page: `offers/${suffix.toLowerCase()}`,
      tags: ['offer'],
      pattern: 'evening',
      scans,
      design,
      more: { ...more },
    });
  const content = (name: string, suffix: string, type: string, target: string): Print => {
    const slug = `${restaurant.prefix}-${suffix}`;
    const body = { type, target, name: `${city} · ${name}`, dynamic: false, tags: [path], design };
    return { slug, body, pattern: 'evening', scans: 0 };
  };
  if (path === 'vienna') {
    return content('Guest Wi-Fi', 'WIFI', 'wifi', 'WIFI:T:WPA;S:Saffron Guests;P:rye-and-butter;;');
  }
  if (path === 'chicago') {
    const card =
      'BEGIN:VCARD\nVERSION:3.0\nN:;Saffron & Rye\nFN:Saffron & Rye\nTEL:+13125550142\nEND:VCARD';
    return content('Contact card', 'CARD', 'vcard', card);
  }
  if (path === 'zurich') {
    const expiresAt = isoTime(dayMs(20));
    return given('Opening weeks voucher', 'OPENING', 26, { expiresAt, fallbackUrl: ended });
  }
  if (path === 'london') {
    const scanLimit = Math.ceil(750 * share);
    return given('Happy hour voucher', 'HAPPY', 30, { scanLimit, fallbackUrl: ended });
  }
  if (path === 'lisbon') return given('Old loyalty card', 'CARD', 0.6, { paused: true });
  return given('New menu preview', 'PREVIEW', 0, { startsAt: isoTime(dayMs(-12)) });
}
