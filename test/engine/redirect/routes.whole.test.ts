/**
 * Rules, splits and states over real sockets: what each client gets, also one that sends what no browser would, and what
 * is journaled of it. What rules, queries and languages mean is tested in test/engine/routes.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { missedRoutes } from '../../../src/model/routing/labels.ts';
import type { RouteConditions } from '../../../src/model/routing/routing.ts';
import { plainTarget, routedLink, targetOf, variant } from '../links/routed.ts';
import { linkOf } from '../links/table.ts';
import { sendRaw } from '../../support/raw-http.ts';
import { soon } from '../../support/soon.ts';
import {
  agents,
  type Asked,
  geoData,
  rule,
  startRedirects,
  startRouted,
} from './redirect-harness.ts';

let routed: Awaited<ReturnType<typeof startRouted>>;
beforeAll(async () => {
  routed = await startRouted();
});
afterAll(async () => {
  expect(routed.harness.deaths()).toEqual([]);
  await routed.harness.close();
});

interface Queried extends Asked {
  readonly query?: string;
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
    [{ time: { timezone: 'Asia/Kathmandu' } }, {}, { agent: agents.google }],
    [
      { device: ['mobile'], os: ['iOS'], language: ['fr'] },
      { headers: reads('fr') },
      { agent: agents.pixel, headers: reads('fr') },
    ],
  ];

  it.each(cases)('%j holds for whom it says', async (conditions, yes, no) => {
    const { path, codeNo } = routed.put({ rules: [rule('held', conditions)] });
    const held = await routed.ask(path + (yes.query ?? ''), yes);
    expect([held.status, held.location]).toEqual([302, targetOf('held')]);
    const other = await routed.ask(path + (no.query ?? ''), no);
    expect([other.status, other.location]).toEqual([302, plainTarget]);
    expect(await routed.routesOf(codeNo)).toEqual([1, 0]);
  });

  it('of a zone that is not known here never holds, and of dates that are over neither', async () => {
    const time = { timezone: 'Mars/Olympus_Mons' };
    const { path } = routed.put({
      rules: [rule('a', { time }), rule('b', { date: { to: at(-hour) } })],
    });
    expect((await routed.ask(path)).location).toBe(plainTarget);
  });

  it('that holds first wins, up to label 58, and the last one of twenty', async () => {
    const never = rule('never', { query: { never: '1' } });
    const labels = Array.from({ length: 57 }, (_, no) => ({ name: `label-${no}` }));
    const rules = [...Array.from({ length: 18 }, () => never), rule('last', {}), rule('later', {})];
    const named = [...labels, { name: 'last' }, { name: 'never' }, { name: 'later' }];
    const { path, codeNo } = routed.put({ rules, labels: named });
    expect((await routed.ask(path)).location).toBe(targetOf('last'));
    expect(await routed.routesOf(codeNo)).toEqual([58]);
  });
});

it.each([
  ['iMessage', { agent: agents.imessage }],
  ['WhatsApp', { agent: agents.whatsapp }],
  ['Slack', { agent: agents.slack }],
  ['Google', { agent: agents.google }],
  ['a browser that prefetches', { headers: 'Sec-Purpose: prefetch;prerender\r\n' }],
  ['an older one', { headers: 'Purpose: prefetch\r\n' }],
  ['Firefox', { headers: 'X-Moz: prefetch\r\n' }],
])(
  'bots, previews and prefetches, %s: the target with its UTM, route 0, none of the limit',
  async (_, asked) => {
    const fields = {
      rules: [rule('all', {})],
      split: [variant('a', 1), variant('b', 1)],
      utm: { source: 'card' },
      passQuery: true,
    };
    const { path, codeNo, key } = routed.put(fields, { scansLeft: 1 });
    const { status, location } = await routed.ask(`${path}?q=1`, asked);
    expect([status, location]).toEqual([302, `${plainTarget}?utm_source=card&q=1`]);
    expect(await routed.routesOf(codeNo)).toEqual([0]);
    expect(routed.harness.links.scansLeft(key)).toBe(1);
    expect((await routed.ask(path)).location).toBe(`${targetOf('all')}?utm_source=card`);
    expect((await routed.ask(path, asked)).status).toBe(410);
    expect(await routed.routesOf(codeNo)).toEqual([0, 1, missedRoutes.used_up]);
  },
);

describe('HEAD', () => {
  const passQuery = true;
  const fallbackUrl = targetOf('fallback');
  const onlyA = [variant('a', 1), variant('never', 0)];
  it.each([
    [
      'a rule',
      { passQuery, rules: [rule('held', { os: ['iOS'] })] },
      `${targetOf('held')}?a=1`,
      302,
    ],
    ['a split', { passQuery, split: onlyA }, `${targetOf('a')}?a=1`, 302],
    ['a passed query', { passQuery }, `${plainTarget}?a=1`, 302],
    ['a fallback', { passQuery, paused: true, fallbackUrl }, fallbackUrl, 302],
    ['a page', { paused: true }, undefined, 410],
    ['what has not begun', { startsAtMs: 4e12 }, undefined, 404],
  ])('answers %s as GET does, and counts and takes nothing', async (_, fields, wanted, code) => {
    const { path, codeNo, key } = routed.put(fields, { scansLeft: 2 });
    const head = await routed.ask(`${path}?a=1`, { method: 'HEAD' });
    expect([head.status, head.location, head.body]).toEqual([code, wanted, '']);
    expect([await routed.routesOf(codeNo), routed.harness.links.scansLeft(key)]).toEqual([[], 2]);
    const get = await routed.ask(`${path}?a=1`);
    expect([get.status, get.location]).toEqual([code, wanted]);
    const names = (of: typeof get): string[] => (of.head.match(/^[\w-]+(?=:)/gm) ?? []).toSorted();
    expect(names(head)).toEqual(names(get));
    expect(await routed.routesOf(codeNo)).toHaveLength(1);
  });
});

describe('passQuery', () => {
  const longest = `q=${'x'.repeat(1_022)}`;
  it.each([
    ['https://e.co/#top', '&&a=1&', 'https://e.co/?a=1#top'],
    ['https://e.co/', 'a=%0d%0aX-Evil:%201', 'https://e.co/?a=%0d%0aX-Evil:%201'],
    ['https://e.co/', `a="<>\\^\`{|}'`, `https://e.co/?a="<>\\^\`{|}'`],
    ['https://e.co/', 'a=\u00e4', 'https://e.co/'],
    [`https://e.co/${'t'.repeat(8_100)}`, longest, `https://e.co/${'t'.repeat(8_100)}`],
  ])('%#: the target byte for byte, and what may be added to it', async (target, query, wanted) => {
    const { path } = routed.put({ passQuery: true }, { target });
    const { status, location, head } = await routed.ask(`${path}?${query}`);
    expect([status, location]).toEqual([302, wanted]);
    expect(head).not.toContain('X-Evil: 1');
  });

  it('a line break in the request line ends it: no answer holds what is behind', async () => {
    const { path } = routed.put({ passQuery: true });
    for (const end of ['\r\n', '\n', '\r', '\0', '\t']) {
      const text = `GET ${path}?a=1${end}X-Evil: 1 HTTP/1.1\r\nHost: x\r\n\r\n`;
      const { text: answer } = await sendRaw(routed.harness.port, [text], 60);
      expect(answer).not.toContain('X-Evil');
    }
  });
});

describe('a hostile client of a code with every kind of rule', () => {
  const names = { name: 'value', constructor: '*' };
  const rules = [
    rule('de', { language: ['de', 'zh-Hant-TW'], query: names, country: ['ZZ'] }),
    rule('chrome', { browser: ['Chrome'] }),
  ];
  const sound = { headers: 'Accept-Language: de\r\n', query: '?constructor=&name=value' };

  it.each<[string, Queried]>([
    ['languages of 4 KB', { headers: `Accept-Language: ${'x-'.repeat(1_900)}\r\n` }],
    ['languages of nothing', { headers: `Accept-Language: ${',;q=,'.repeat(400)}\r\n` }],
    ['languages in Latin-1', { headers: 'Accept-Language: d\xe9, \xff;q=\xb2\r\n' }],
    ['an agent in Latin-1', { agent: 'Mozilla \xff\xfe\x80' }],
    ['an agent of 3 KB', { agent: 'A('.repeat(1_500) }],
    ['no agent', { agent: '' }],
    ['an IPv6 visitor', { headers: 'X-Forwarded-For: 2a02:db8::1%eth0\r\n' }],
    ['an address that cannot be read', { headers: `X-Forwarded-For: ${'9.'.repeat(500)}\r\n` }],
    ['1,800 parameters', { query: `?${'x&'.repeat(1_800)}` }],
    ['invalid encodings', { query: `?${'%'.repeat(200)}&name=%zz&constructor=%C3%28` }],
    ['names of what every object has', { query: '?__proto__=value&hasOwnProperty=1&toString' }],
  ])('%s: an answer, and the next visitor is served', async (_, asked) => {
    const { path, codeNo } = routed.put({ rules });
    expect((await routed.ask(path + (asked.query ?? ''), asked)).location).toBe(plainTarget);
    expect((await routed.ask(path + sound.query, sound)).location).toBe(targetOf('de'));
    expect(await routed.routesOf(codeNo)).toEqual([0, 1]);
  });

  it('a head of more than 4 KB is refused, as of any code, not cut', async () => {
    const { path } = routed.put({ rules });
    expect((await routed.ask(path, { agent: 'A'.repeat(4_096) })).status).toBe(431);
    expect((await routed.ask(`${path}?${'x'.repeat(4_096)}`)).status).toBe(431);
    expect((await routed.ask(path)).location).toBe(plainTarget);
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
      const { path, key, codeNo } = routed.put(fields, {
        expiresAtMs: has('expired') ? 1 : 4e12,
        scansLeft: has('used_up') ? 0 : 1,
      });
      if (has('deleted')) routed.harness.links.delete(key);
      const { status, location, body } = await routed.ask(path, {
        headers: 'Accept: application/json\r\n',
      });
      const [first] = held;
      if (first === undefined) {
        expect([status, location]).toEqual([302, targetOf('held')]);
        expect(await routed.routesOf(codeNo)).toEqual([1]);
        continue;
      }
      const isLed = kind === 'with a fallback' && first !== 'deleted';
      const refused = first === 'not_started' ? 404 : 410;
      expect([held, status]).toEqual([held, isLed ? 302 : refused]);
      expect(location).toBe(isLed ? fallbackUrl : undefined);
      if (!isLed)
        expect(JSON.parse(body)).toMatchObject({ code: first === 'deleted' ? 'gone' : first });
      expect(await routed.routesOf(codeNo)).toEqual(
        first === 'deleted' ? [] : [missedRoutes[first]],
      );
    }
  });

  it('is a page for people, and is not recorded of a plain code', async () => {
    const { path } = routed.put({ paused: true });
    const { status, body, head } = await routed.ask(path, { headers: 'Accept: text/html\r\n' });
    expect([status, body.includes('This code is paused')]).toEqual([410, true]);
    expect(head).toMatch(/^Cache-Control: no-store\r$/im);
    routed.harness.links.put(linkOf('PLAINOLD', { codeNo: 99, expiresAtMs: 1 }));
    routed.harness.links.put(linkOf('PLAINUSED', { codeNo: 98, scansLeft: 0 }));
    for (const key of ['PLAINOLD', 'PLAINUSED'])
      expect((await routed.ask(`/${key}`)).status).toBe(410);
    expect([...(await routed.routesOf(99)), ...(await routed.routesOf(98))]).toEqual([]);
  });
});

it('a split over two threads is the same for each visitor, and countries are known, through deaths of threads', async () => {
  const two = await startRedirects({
    threads: 2,
    trustedProxies: ['127.0.0.0/8'],
    file: new URL('./mortal-redirect.worker.ts', import.meta.url),
    geo: geoData(),
  });
  two.links.put(
    routedLink('SPLIT234', { split: [variant('a', 3), variant('b', 1)] }, { codeNo: 5 }),
  );
  const german = { rules: [rule('german', { country: ['DE'] })] };
  two.links.put(routedLink('COUNTRY2', german, { codeNo: 6 }));
  const ask = async (path: string, address: string): Promise<string | undefined> => {
    const headers = { connection: 'close', 'x-forwarded-for': address };
    const url = `http://127.0.0.1:${two.port}/${path}`;
    const answer = await fetch(url, { redirect: 'manual', headers });
    return answer.headers.get('location') ?? undefined;
  };
  const visit = (no: number): Promise<string | undefined> => ask('split234', `203.0.113.${no}`);
  const visitors = Array.from({ length: 30 }, (_, no) => no);
  const first = await Promise.all(visitors.map(visit));
  expect(new Set(first)).toEqual(new Set([targetOf('a'), targetOf('b')]));
  for (const [round, kind] of ['exit', 'throw', 'reject'].entries()) {
    two.send(round % 2, { kind });
    await expect.poll(() => two.deaths().length, { ...soon, interval: 5 }).toBe(round + 1);
    expect(await Promise.all(visitors.map(visit))).toEqual(first);
    await expect.poll(() => two.areListening(), soon).toBe(true);
    expect(await Promise.all(visitors.map(visit))).toEqual(first);
    // The successor knows the countries, too, whichever thread has the connection.
    const led = await Promise.all(visitors.map(() => ask('country2', '81.2.69.1')));
    expect(new Set(led)).toEqual(new Set([targetOf('german')]));
  }
  const counts = [1, 2].map(
    (route) => two.scans().filter((scan) => scan.codeNo === 5 && scan.route === route).length,
  );
  const ofA = first.filter((location) => location === targetOf('a')).length;
  expect(counts).toEqual([7 * ofA, 7 * (visitors.length - ofA)]);
  await two.close();
});
