/** UTM parameters and passed queries change nothing but what they add. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { queryPairs, withPassedQuery } from '../../../src/engine/routes/query-text.ts';
import { withUtm } from '../../../src/engine/routes/utm.ts';

const tokens = { slug: 'MENU', label: 'ios', campaign: 'Summer & Sun' };

describe('withUtm', () => {
  it.each([
    ['https://e.co/', { source: 'print' }, 'https://e.co/?utm_source=print'],
    ['https://e.co/?a=%20b+c#x?y', { medium: 'qr' }, 'https://e.co/?a=%20b+c&utm_medium=qr#x?y'],
    ['https://e.co/?utm_source=old&b', { source: 'new' }, 'https://e.co/?b&utm_source=new'],
    ['https://e.co/?utm%5Fsource=old', { source: 'new' }, 'https://e.co/?utm_source=new'],
    [
      'https://e.co/?utm_source=old',
      { medium: 'qr' },
      'https://e.co/?utm_source=old&utm_medium=qr',
    ],
    [
      'https://e.co/',
      { campaign: '{campaign}', content: '{slug}/{label}' },
      'https://e.co/?utm_campaign=Summer%20%26%20Sun&utm_content=MENU%2Fios',
    ],
    ['https://e.co/', { source: "it's 5 €" }, 'https://e.co/?utm_source=it%27s%205%20%E2%82%AC'],
    ['https://e.co/', { source: '' }, 'https://e.co/'],
  ])('%s with %j', (target, utm, expected) => {
    expect(withUtm(target, utm, tokens)).toBe(expected);
    expect(new URL(expected).href).toBe(expected);
    expect(withUtm(expected, utm, tokens)).toBe(expected);
  });

  it('adds nothing for a token that is empty', () => {
    expect(withUtm('https://e.co/', { campaign: '{campaign}' }, { ...tokens, campaign: '' })).toBe(
      'https://e.co/',
    );
  });

  it('makes an address that a parser leaves as it is, of any values', () => {
    const value = fc.string({ unit: 'grapheme', maxLength: 30 });
    fc.assert(
      fc.property(
        value,
        value,
        fc.webUrl({ withQueryParameters: true, withFragments: true }),
        (source, term, url) => {
          const made = withUtm(new URL(url).href, { source, term }, tokens);
          expect(new URL(made).href).toBe(made);
          const filled = source.replaceAll('{slug}', 'MENU');
          if (!/[{}]/.test(source) && source !== '')
            expect(new URL(made).searchParams.get('utm_source')).toBe(filled);
        },
      ),
    );
  });
});

it.each([
  ['https://e.co/', 'table=4', 'https://e.co/?table=4'],
  ['https://e.co/?a=1#top', 'b=%20&c', 'https://e.co/?a=1&b=%20&c#top'],
  ['https://e.co/?a=1', 'a=2&b=3&a=4', 'https://e.co/?a=1&b=3'],
  ['https://e.co/?a%62=1', 'ab=2', 'https://e.co/?a%62=1'],
  ['https://e.co/?a=1', '%61=2', 'https://e.co/?a=1'],
  ['https://e.co/', 'a=1&a=2', 'https://e.co/?a=1&a=2'],
  ['https://e.co/', '&&', 'https://e.co/'],
  ['https://e.co/', 'x=%0d%0aSet-Cookie:a', 'https://e.co/?x=%0d%0aSet-Cookie:a'],
  ['https://e.co/', 'x=\r\ny', 'https://e.co/'],
  ['https://e.co/', 'x=#y', 'https://e.co/'],
  ['https://e.co/', 'x=é', 'https://e.co/'],
  ['https://e.co/', `x=${'y'.repeat(1_022)}`, `https://e.co/?x=${'y'.repeat(1_022)}`],
  ['https://e.co/', `x=${'y'.repeat(1_023)}`, 'https://e.co/'],
  ['https://e.co/?a=1', '', 'https://e.co/?a=1'],
])('withPassedQuery: %s takes %.30j', (target, query, expected) => {
  expect(withPassedQuery(target, query)).toBe(expected);
});

it('queryPairs decodes once, keeps order and doubles, and is bounded', () => {
  const pairs = queryPairs('a=1&b&c=%2541&d+e=%C3%A9&f=%&__proto__=x&a=2');
  expect(pairs.join('|')).toBe('a|1|b||c|%41|d e|é|f|%|__proto__|x|a|2');
  expect(queryPairs('a=1&'.repeat(2_000))).toHaveLength(128);
});
