/** Rules, splits, states and passed queries over real sockets: what each client gets, and what is journaled of it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Link } from '../../src/links/layout.ts';
import { missedRoutes } from '../../src/model/routing/labels.ts';
import {
  type RouteConditions,
  type RouteRule,
  type Routing,
  type TimeWindow,
  weekdays,
} from '../../src/model/routing/routing.ts';
import { minutesPerDay } from '../../src/routes/program-layout.ts';
import { localMinutes } from '../../src/routes/zone-offsets.ts';
import { plainTarget, routedLink, targetOf, variant } from '../links/routed.ts';
import { linkOf } from '../links/table.ts';
import { makeGeoTable } from '../scans/visitor/geo-data.ts';
import { writeMmdb } from '../scans/visitor/write-mmdb.ts';
import { sendRaw } from '../support/raw-http.ts';
import { soon } from '../support/soon.ts';
import { type RedirectHarness, startRedirects } from './redirect-harness.ts';

const agents = {
  iphone:
    'Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1',
  pixel:
    'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/122.0.0.0 Mobile Safari/537.36',
  firefox: 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:124.0) Gecko/20100101 Firefox/124.0',
  imessage:
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0',
  whatsapp: 'WhatsApp/2.23.20.0 A',
  slack: 'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
  google: 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
} as const;

let harness: RedirectHarness;
let codes = 100;

beforeAll(async () => {
  harness = await startRedirects({ trustedProxies: ['127.0.0.0/8'] });
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-routes-'));
  const countryFile = join(folder, 'countries.mmdb');
  const networks = [
    ['81.2.64.0/20', { country_code: 'DE' }],
    ['9.0.0.0/8', { country_code: 'US' }],
  ] as const;
  writeFileSync(countryFile, writeMmdb(4, networks));
  harness.redirects.useGeo(makeGeoTable({ countryFile }));
  rmSync(folder, { recursive: true });
});
afterAll(async () => {
  expect(harness.deaths()).toEqual([]);
  await harness.close();
});

/** Puts a code of its own into the table. */
function put(fields: Partial<Routing>, more: Partial<Link> = {}) {
  const codeNo = ++codes;
  const key = `ROUTED${codeNo}`;
  harness.links.put(routedLink(key, fields, { codeNo, ...more }));
  return { path: `/${key}`, key, codeNo };
}

const routesOf = (no: number): number[] =>
  harness.scans().flatMap(({ codeNo, route }) => (codeNo === no ? [route] : []));

interface Asked {
  readonly agent?: string;
  readonly headers?: string;
  readonly method?: string;
}

interface Queried extends Asked {
  readonly query?: string;
}

async function ask(
  path: string,
  { agent = agents.iphone, headers = '', method = 'GET' }: Asked = {},
) {
  const text = `${method} ${path} HTTP/1.1\r\nHost: s.example\r\nUser-Agent: ${agent}\r\nConnection: close\r\n${headers}\r\n`;
  const answer = await sendRaw(harness.port, [Buffer.from(text, 'latin1')]);
  const [head = '', body = ''] = answer.text.split('\r\n\r\n');
  return {
    status: Number(head.slice(9, 12)),
    location: /^Location: (.*)$/m.exec(head)?.[1]?.replace(/\r$/, ''),
    head,
    body,
  };
}

const rule = (label: string, conditions: RouteConditions): RouteRule => ({
  label,
  if: conditions,
  then: { target: targetOf(label) },
});

/** A window of two hours around now, or one that is hours away. */
function windowOf(timezone: string, hoursAway = 0): TimeWindow {
  const now = localMinutes(timezone, Date.now()) + hoursAway * 60;
  const clock = (minutes: number): string => {
    const ofDay = ((minutes % minutesPerDay) + minutesPerDay) % minutesPerDay;
    const [hour, minute] = [Math.floor(ofDay / 60), ofDay % 60];
    return `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;
  };
  // A window that spans midnight belongs to the day it begins on.
  const day = weekdays[(Math.floor((now - 60) / minutesPerDay) + 3) % 7]!;
  return { timezone, days: [day], from: clock(now - 60), to: clock(now + 60) };
}

describe('a rule', () => {
  const from = (address: string): string => `X-Forwarded-For: ${address}\r\n`;
  const reads = (languages: string): string => `Accept-Language: ${languages}\r\n`;
  const hour = 3_600_000;
  const at = (ms: number): string => new Date(Date.now() + ms).toISOString();
  const cases: ReadonlyArray<readonly [RouteConditions, yes: Queried, no: Queried]> = [
    [{ device: ['mobile'] }, {}, { agent: agents.firefox }],
    [{ device: ['desktop', 'other'] }, { agent: agents.firefox }, {}],
    [{ os: ['Android'] }, { agent: agents.pixel }, {}],
    [{ browser: ['Firefox', 'Chrome'] }, { agent: agents.firefox }, {}],
    [{ country: ['AT', 'DE'] }, { headers: from('81.2.69.142') }, { headers: from('9.1.2.3') }],
    [{ country: ['ZZ'] }, { headers: from('2001:db8::7') }, { headers: from('81.2.69.142') }],
    [{ language: ['de'] }, { headers: reads('de-AT,en;q=0.5') }, { headers: reads('en,de;q=0.9') }],
    [{ language: ['pt-BR'] }, { headers: reads('PT-br') }, {}],
    [{ query: { ref: 'a b', x: '*' } }, { query: '?x=&ref=a+b' }, { query: '?ref=a+b' }],
    [{ query: { ref: 'ä' } }, { query: '?ref=%C3%A4' }, { query: '?ref=%C3' }],
    [{ query: { constructor: '*' } }, { query: '?constructor' }, { query: '?toString=1' }],
    [
      { query: Object.fromEntries([['__proto__', '1']]) },
      { query: '?__proto__=1' },
      { query: '?__proto__=2' },
    ],
    [{ date: { from: at(-hour), to: at(hour) } }, {}, { agent: agents.google }],
    [
      { device: ['mobile'], os: ['iOS'], language: ['fr'] },
      { headers: reads('fr') },
      { agent: agents.pixel, headers: reads('fr') },
    ],
  ];

  it.each(cases)('%j holds for whom it says', async (conditions, yes, no) => {
    const { path, codeNo } = put({ rules: [rule('held', conditions)] });
    const held = await ask(path + (yes.query ?? ''), yes);
    expect([held.status, held.location]).toEqual([302, targetOf('held')]);
    const other = await ask(path + (no.query ?? ''), no);
    expect([other.status, other.location]).toEqual([302, plainTarget]);
    expect(routesOf(codeNo)).toEqual([1, 0]);
  });

  it.each(['Asia/Kathmandu', 'America/St_Johns', 'UTC', 'pacific/APIA'])(
    'of a time goes by the clocks of %s',
    async (timezone) => {
      const rules = [
        rule('past', { time: windowOf(timezone, -4) }),
        rule('now', { time: windowOf(timezone) }),
      ];
      const { path } = put({ rules });
      expect((await ask(path)).location).toBe(targetOf('now'));
    },
  );

  it('of a zone that is not known here never holds, and of dates that are over neither', async () => {
    const time = { timezone: 'Mars/Olympus_Mons' };
    const { path } = put({ rules: [rule('a', { time }), rule('b', { date: { to: at(-hour) } })] });
    expect((await ask(path)).location).toBe(plainTarget);
  });

  it('that holds first wins, up to label 58, and the last one of twenty', async () => {
    const never = rule('never', { query: { never: '1' } });
    const labels = Array.from({ length: 57 }, (_, no) => ({ name: `label-${no}` }));
    const rules = [...Array.from({ length: 18 }, () => never), rule('last', {}), rule('later', {})];
    const named = [...labels, { name: 'last' }, { name: 'never' }, { name: 'later' }];
    const { path, codeNo } = put({ rules, labels: named });
    expect((await ask(path)).location).toBe(targetOf('last'));
    expect(routesOf(codeNo)).toEqual([58]);
  });

  it('leads to a change of it at once', async () => {
    const { path, key, codeNo } = put({ rules: [rule('first', {})] });
    for (const label of ['second', 'third']) {
      harness.links.put(routedLink(key, { rules: [rule(label, {})] }, { codeNo }));
      expect((await ask(path)).location).toBe(targetOf(label));
    }
    harness.links.put(linkOf(key, { codeNo, target: plainTarget }));
    expect((await ask(path)).location).toBe(plainTarget);
  });
});

describe('bots, previews and prefetches', () => {
  it.each([
    ['iMessage', { agent: agents.imessage }],
    ['WhatsApp', { agent: agents.whatsapp }],
    ['Slack', { agent: agents.slack }],
    ['Google', { agent: agents.google }],
    ['a browser that prefetches', { headers: 'Sec-Purpose: prefetch;prerender\r\n' }],
    ['an older one', { headers: 'Purpose: prefetch\r\n' }],
    ['Firefox', { headers: 'X-Moz: prefetch\r\n' }],
  ])('%s: the target with its UTM, route 0, none of the limit', async (_, asked) => {
    const fields = {
      rules: [rule('all', {})],
      split: [variant('a', 1), variant('b', 1)],
      utm: { source: 'card' },
      passQuery: true,
    };
    const { path, codeNo, key } = put(fields, { scansLeft: 1 });
    const { status, location } = await ask(`${path}?q=1`, asked);
    expect([status, location]).toEqual([302, `${plainTarget}?utm_source=card&q=1`]);
    expect(routesOf(codeNo)).toEqual([0]);
    expect(harness.links.scansLeft(key)).toBe(1);
    expect((await ask(path)).location).toBe(`${targetOf('all')}?utm_source=card`);
    expect((await ask(path, asked)).status).toBe(410);
    expect(routesOf(codeNo)).toEqual([0, 1, missedRoutes.used_up]);
  });
});

describe('HEAD', () => {
  it.each([
    ['a rule', { rules: [rule('held', { os: ['iOS'] })] }, targetOf('held'), 302],
    ['a passed query', { passQuery: true }, `${plainTarget}?a=1`, 302],
    ['a fallback', { paused: true, fallbackUrl: targetOf('fallback') }, targetOf('fallback'), 302],
    ['a page', { paused: true }, undefined, 410],
    ['what has not begun', { startsAtMs: 4e12 }, undefined, 404],
  ])('answers %s as GET does, and counts and takes nothing', async (_, fields, wanted, code) => {
    const { path, codeNo, key } = put(fields, { scansLeft: 2 });
    const head = await ask(`${path}?a=1`, { method: 'HEAD' });
    expect([head.status, head.location, head.body]).toEqual([code, wanted, '']);
    expect([routesOf(codeNo), harness.links.scansLeft(key)]).toEqual([[], 2]);
    const get = await ask(`${path}?a=1`);
    expect([get.status, get.location]).toEqual([code, wanted]);
    const names = ({ head: text }: typeof get): string[] =>
      text
        .split('\r\n')
        .map((line) => line.split(':')[0]!)
        .toSorted();
    expect(names(head)).toEqual(names(get));
    expect(routesOf(codeNo)).toHaveLength(1);
  });

  it('stays in the variant that GET has', async () => {
    const { path } = put({ split: [variant('a', 1), variant('b', 1)] });
    for (let no = 0; no < 8; no++) {
      const headers = `X-Forwarded-For: 9.8.7.${no}\r\n`;
      const { location } = await ask(path, { headers });
      expect((await ask(path, { headers, method: 'HEAD' })).location).toBe(location);
    }
  });
});

describe('what leads nowhere', () => {
  const reasons = ['deleted', 'paused', 'not_started', 'expired', 'used_up'] as const;
  const combinations = Array.from({ length: 2 ** reasons.length }, (_, bits) =>
    reasons.filter((_reason, at) => ((bits >>> at) & 1) === 1),
  );

  it.each(['with a fallback', 'without one'])('in its order, %s', async (kind) => {
    const fallbackUrl = targetOf('fallback');
    const more = kind === 'with a fallback' ? { fallbackUrl } : { passQuery: true };
    for (const held of combinations) {
      const has = (reason: (typeof reasons)[number]): boolean => held.includes(reason);
      const fields = {
        ...more,
        rules: [rule('held', {})],
        paused: has('paused'),
        ...(has('not_started') && { startsAtMs: Date.now() + 60_000 }),
      };
      const { path, key, codeNo } = put(fields, {
        expiresAtMs: has('expired') ? 1 : 4e12,
        scansLeft: has('used_up') ? 0 : 1,
      });
      if (has('deleted')) harness.links.delete(key);
      const { status, location, body } = await ask(path, {
        headers: 'Accept: application/json\r\n',
      });
      const [first] = held;
      if (first === undefined) {
        expect([status, location]).toEqual([302, targetOf('held')]);
        expect(routesOf(codeNo)).toEqual([1]);
        continue;
      }
      const isLed = kind === 'with a fallback' && first !== 'deleted';
      const refused = first === 'not_started' ? 404 : 410;
      expect([held, status]).toEqual([held, isLed ? 302 : refused]);
      expect(location).toBe(isLed ? fallbackUrl : undefined);
      if (!isLed)
        expect(JSON.parse(body)).toMatchObject({ code: first === 'deleted' ? 'gone' : first });
      expect(routesOf(codeNo)).toEqual(first === 'deleted' ? [] : [missedRoutes[first]]);
    }
  });

  it('is a page for people, and is not recorded of a plain code', async () => {
    const { path } = put({ paused: true });
    const { status, body, head } = await ask(path, { headers: 'Accept: text/html\r\n' });
    expect([status, body.includes('This code is paused')]).toEqual([410, true]);
    expect(head).toMatch(/^Cache-Control: no-store\r$/im);
    harness.links.put(linkOf('PLAINOLD', { codeNo: 99, expiresAtMs: 1 }));
    harness.links.put(linkOf('PLAINUSED', { codeNo: 98, scansLeft: 0 }));
    for (const key of ['PLAINOLD', 'PLAINUSED']) expect((await ask(`/${key}`)).status).toBe(410);
    expect([...routesOf(99), ...routesOf(98)]).toEqual([]);
  });

  it('is over at once where it began, is resumed, or has scans again', async () => {
    const { path, key, codeNo } = put({ paused: true }, { scansLeft: 0 });
    harness.links.put(routedLink(key, { rules: [rule('on', {})] }, { codeNo, scansLeft: 2 }));
    expect((await ask(path)).location).toBe(targetOf('on'));
    const startsAtMs = Date.now();
    harness.links.put(routedLink(key, { startsAtMs }, { codeNo, scansLeft: 2 }));
    expect((await ask(path)).location).toBe(plainTarget);
    expect(routesOf(codeNo)).toEqual([1, 0]);
  });
});

describe('passQuery', () => {
  const longest = `q=${'x'.repeat(1_022)}`;
  it.each([
    ['https://e.co/', 'a=1&b=2', 'https://e.co/?a=1&b=2'],
    ['https://e.co/?a=0', 'a=1&b=2', 'https://e.co/?a=0&b=2'],
    ['https://e.co/?a=0', '%61=1', 'https://e.co/?a=0'],
    ['https://e.co/?a', 'a=1&a=2', 'https://e.co/?a'],
    ['https://e.co/', 'a=1&a=2', 'https://e.co/?a=1&a=2'],
    ['https://e.co/p?x=%20#top', 'a=1', 'https://e.co/p?x=%20&a=1#top'],
    ['https://e.co/#top', '&&a=1&', 'https://e.co/?a=1#top'],
    ['https://e.co/', '', 'https://e.co/'],
    ['https://e.co/', '&', 'https://e.co/'],
    ['https://e.co/', 'a=%0d%0aX-Evil:%201', 'https://e.co/?a=%0d%0aX-Evil:%201'],
    ['https://e.co/', '%zz=%C3&__proto__=1', 'https://e.co/?%zz=%C3&__proto__=1'],
    ['https://e.co/', `a="<>\\^\`{|}'`, `https://e.co/?a="<>\\^\`{|}'`],
    ['https://e.co/', 'a=1?b=2', 'https://e.co/?a=1?b=2'],
    ['https://e.co/', 'a=1#b=2', 'https://e.co/'],
    ['https://e.co/', 'a=\u00e4', 'https://e.co/'],
    ['https://e.co/', longest, `https://e.co/?${longest}`],
    ['https://e.co/', `${longest}x`, 'https://e.co/'],
    ['https://e.co/', `q=${'x'.repeat(3_700)}`, 'https://e.co/'],
    [`https://e.co/${'t'.repeat(8_100)}`, longest, `https://e.co/${'t'.repeat(8_100)}`],
  ])('%#: the target byte for byte, and what may be added to it', async (target, query, wanted) => {
    const { path } = put({ passQuery: true }, { target });
    for (const method of ['GET', 'HEAD']) {
      const { status, location, head } = await ask(`${path}?${query}`, { method });
      expect([status, location]).toEqual([302, wanted]);
      expect(head).not.toContain('X-Evil: 1');
    }
    const { path: without } = put(
      { rules: [rule('never', { query: { never: '1' } })] },
      { target },
    );
    expect((await ask(`${without}?${query}`)).location).toBe(target);
  });

  it('goes to rules and variants, not to the fallback', async () => {
    const { path, key, codeNo } = put({ passQuery: true, rules: [rule('on', {})] });
    expect((await ask(`${path}?a=1`)).location).toBe(`${targetOf('on')}?a=1`);
    const fallbackUrl = targetOf('fallback');
    const split = [variant('only', 1), variant('never', 0)];
    harness.links.put(routedLink(key, { passQuery: true, split }, { codeNo }));
    expect((await ask(`${path}?a=1`)).location).toBe(`${targetOf('only')}?a=1`);
    harness.links.put(routedLink(key, { passQuery: true, paused: true, fallbackUrl }, { codeNo }));
    expect((await ask(`${path}?a=1`)).location).toBe(fallbackUrl);
  });

  it('a line break in the request line ends it: no answer holds what is behind', async () => {
    const { path } = put({ passQuery: true });
    for (const end of ['\r\n', '\n', '\r', '\0', '\t']) {
      const text = `GET ${path}?a=1${end}X-Evil: 1 HTTP/1.1\r\nHost: x\r\n\r\n`;
      const { text: answer } = await sendRaw(harness.port, [text], 60);
      expect(answer).not.toContain('X-Evil');
    }
  });
});

describe('hostile clients of a code with every kind of rule', () => {
  const rules = [
    rule('de', { language: ['de', 'zh-Hant-TW'] }),
    rule('query', { query: { name: 'value', constructor: '*' } }),
    rule('chrome', { browser: ['Chrome'] }),
    rule('country', { country: ['US'] }),
  ];
  const many = (count: number, text: (no: number) => string): string =>
    Array.from({ length: count }, (_, no) => text(no)).join('');

  it.each([
    ['languages of 4 KB', { headers: `Accept-Language: ${'x-'.repeat(1_900)}\r\n` }],
    [
      'hundreds of languages',
      { headers: `Accept-Language: ${many(280, (no) => `a${no};q=0.${no},`)}\r\n` },
    ],
    ['languages of nothing', { headers: `Accept-Language: ${',;q=,'.repeat(400)}\r\n` }],
    ['languages in Latin-1', { headers: 'Accept-Language: d\xe9, \xff;q=\xb2\r\n' }],
    ['an agent in Latin-1', { agent: 'Mozilla \xff\xfe\x80' }],
    ['an agent of 3 KB', { agent: 'A('.repeat(1_500) }],
    ['no agent', { agent: '' }],
    ['an IPv6 visitor', { headers: 'X-Forwarded-For: 2a02:db8::1%eth0\r\n' }],
    ['an address that is none', { headers: `X-Forwarded-For: ${'9.'.repeat(500)}\r\n` }],
  ])('%s: an answer, and the next visitor is served', async (_, asked) => {
    const { path, codeNo } = put({ rules });
    expect((await ask(path, asked)).location).toBe(plainTarget);
    expect((await ask(path, { headers: 'Accept-Language: de\r\n' })).location).toBe(targetOf('de'));
    expect(routesOf(codeNo)).toEqual([0, 1]);
  });

  it.each([
    ['1,800 parameters', `?${'x&'.repeat(1_800)}`],
    ['a name behind the bound of parameters', `?${'x&'.repeat(64)}name=value&constructor`],
    ['invalid encodings', `?${'%'.repeat(200)}&name=%zz&constructor=%C3%28`],
    ['names of what every object has', '?__proto__=value&hasOwnProperty=1&toString'],
    ['nothing but marks', '????&&&&====%3D'],
  ])('%s: an answer, and the rule holds for the sound one', async (_, query) => {
    const { path, codeNo } = put({ rules });
    expect((await ask(path + query)).location).toBe(plainTarget);
    expect((await ask(`${path}?constructor=&name=value`)).location).toBe(targetOf('query'));
    expect(routesOf(codeNo)).toEqual([0, 2]);
  });

  it('a head of more than 4 KB is refused, as of any code, not cut', async () => {
    const { path } = put({ rules });
    expect((await ask(path, { agent: 'A'.repeat(4_096) })).status).toBe(431);
    expect((await ask(`${path}?${'x'.repeat(4_096)}`)).status).toBe(431);
    expect((await ask(path)).location).toBe(plainTarget);
  });
});

describe('a split', () => {
  it('over two threads gives each visitor the same variant, through deaths and restarts', async () => {
    const two = await startRedirects({
      threads: 2,
      trustedProxies: ['127.0.0.0/8'],
      file: new URL('./mortal-redirect.worker.ts', import.meta.url),
    });
    two.links.put(
      routedLink('SPLIT234', { split: [variant('a', 3), variant('b', 1)] }, { codeNo: 5 }),
    );
    const visit = async (no: number): Promise<string | undefined> => {
      const headers = { connection: 'close', 'x-forwarded-for': `203.0.113.${no}` };
      const url = `http://127.0.0.1:${two.port}/split234`;
      const answer = await fetch(url, { redirect: 'manual', headers });
      return answer.headers.get('location') ?? undefined;
    };
    const visitors = Array.from({ length: 30 }, (_, no) => no);
    const first = await Promise.all(visitors.map(visit));
    expect(new Set(first)).toEqual(new Set([targetOf('a'), targetOf('b')]));
    for (const round of [0, 1]) {
      two.send(round, { kind: 'exit' });
      await expect.poll(() => two.deaths().length, { ...soon, interval: 5 }).toBe(round + 1);
      expect(await Promise.all(visitors.map(visit))).toEqual(first);
      await expect.poll(() => two.areListening(), soon).toBe(true);
      expect(await Promise.all(visitors.map(visit))).toEqual(first);
    }
    const counts = [1, 2].map((route) => two.scans().filter((scan) => scan.route === route).length);
    const ofA = first.filter((location) => location === targetOf('a')).length;
    expect(counts).toEqual([5 * ofA, 5 * (visitors.length - ofA)]);
    await two.close();
  });
});
