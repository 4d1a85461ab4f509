/** Passed queries, and clients that send what no browser would, to codes with programs. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { plainTarget, routedLink, targetOf, variant } from '../links/routed.ts';
import { sendRaw } from '../support/raw-http.ts';
import { RoutedRedirects, rule } from './routes-harness.ts';

let routed: RoutedRedirects;
beforeAll(async () => {
  routed = await RoutedRedirects.start();
});
afterAll(async () => {
  expect(routed.harness.deaths()).toEqual([]);
  await routed.harness.close();
});

describe('passQuery', () => {
  const longest = `q=${'x'.repeat(1_022)}`;
  it.each([
    ['https://e.co/?a=0', 'a=1&b=2', 'https://e.co/?a=0&b=2'],
    ['https://e.co/#top', '&&a=1&', 'https://e.co/?a=1#top'],
    ['https://e.co/', '', 'https://e.co/'],
    ['https://e.co/', 'a=%0d%0aX-Evil:%201', 'https://e.co/?a=%0d%0aX-Evil:%201'],
    ['https://e.co/', `a="<>\\^\`{|}'`, `https://e.co/?a="<>\\^\`{|}'`],
    ['https://e.co/', 'a=\u00e4', 'https://e.co/'],
    ['https://e.co/', `q=${'x'.repeat(3_700)}`, 'https://e.co/'],
    [`https://e.co/${'t'.repeat(8_100)}`, longest, `https://e.co/${'t'.repeat(8_100)}`],
  ])('%#: the target byte for byte, and what may be added to it', async (target, query, wanted) => {
    const { path } = routed.put({ passQuery: true }, { target });
    for (const method of ['GET', 'HEAD']) {
      const { status, location, head } = await routed.ask(`${path}?${query}`, { method });
      expect([status, location]).toEqual([302, wanted]);
      expect(head).not.toContain('X-Evil: 1');
    }
    const { path: without } = routed.put(
      { rules: [rule('never', { query: { never: '1' } })] },
      { target },
    );
    expect((await routed.ask(`${without}?${query}`)).location).toBe(target);
  });

  it('goes to rules and variants, not to the fallback', async () => {
    const { path, key, codeNo } = routed.put({ passQuery: true, rules: [rule('on', {})] });
    expect((await routed.ask(`${path}?a=1`)).location).toBe(`${targetOf('on')}?a=1`);
    const fallbackUrl = targetOf('fallback');
    const split = [variant('only', 1), variant('never', 0)];
    routed.harness.links.put(routedLink(key, { passQuery: true, split }, { codeNo }));
    expect((await routed.ask(`${path}?a=1`)).location).toBe(`${targetOf('only')}?a=1`);
    routed.harness.links.put(
      routedLink(key, { passQuery: true, paused: true, fallbackUrl }, { codeNo }),
    );
    expect((await routed.ask(`${path}?a=1`)).location).toBe(fallbackUrl);
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
    ['an address that cannot be read', { headers: `X-Forwarded-For: ${'9.'.repeat(500)}\r\n` }],
  ])('%s: an answer, and the next visitor is served', async (_, asked) => {
    const { path, codeNo } = routed.put({ rules });
    expect((await routed.ask(path, asked)).location).toBe(plainTarget);
    expect((await routed.ask(path, { headers: 'Accept-Language: de\r\n' })).location).toBe(
      targetOf('de'),
    );
    expect(await routed.routesOf(codeNo)).toEqual([0, 1]);
  });

  it.each([
    ['1,800 parameters', `?${'x&'.repeat(1_800)}`],
    ['a name behind the bound of parameters', `?${'x&'.repeat(64)}name=value&constructor`],
    ['invalid encodings', `?${'%'.repeat(200)}&name=%zz&constructor=%C3%28`],
    ['names of what every object has', '?__proto__=value&hasOwnProperty=1&toString'],
    ['nothing but marks', '????&&&&====%3D'],
  ])('%s: an answer, and the rule holds for the sound one', async (_, query) => {
    const { path, codeNo } = routed.put({ rules });
    expect((await routed.ask(path + query)).location).toBe(plainTarget);
    expect((await routed.ask(`${path}?constructor=&name=value`)).location).toBe(targetOf('query'));
    expect(await routed.routesOf(codeNo)).toEqual([0, 2]);
  });

  it('a head of more than 4 KB is refused, as of any code, not cut', async () => {
    const { path } = routed.put({ rules });
    expect((await routed.ask(path, { agent: 'A'.repeat(4_096) })).status).toBe(431);
    expect((await routed.ask(`${path}?${'x'.repeat(4_096)}`)).status).toBe(431);
    expect((await routed.ask(path)).location).toBe(plainTarget);
  });
});
