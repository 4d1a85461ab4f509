/** Logos as drawing programs write them are cheap; what multiplies is dear, and known to be undrawn. */
import { describe, expect, test } from 'vitest';
import { svgCost, svgCostMax } from '../../src/images/logo/svg-cost.ts';
import { roundLogo } from './sample-designs.ts';

const svg = (inside: string): string => `<svg xmlns="http://www.w3.org/2000/svg">${inside}</svg>`;
const path = '<path d="M0 0h9v9z"/>';

describe('svgCost', () => {
  test('counts elements, and again what is referred to', () => {
    expect(svgCost(roundLogo)).toBe(4);
    expect(svgCost(svg(`<g id="a">${path}${path}</g><use href="#a"/><use xlink:href='#a'/>`))).toBe(
      12,
    );
    expect(svgCost(svg('<path stroke-dasharray="none"/>'))).toBe(2);
    expect(svgCost(svg(`<!-- <path/> --><style><![CDATA[ <path/> ]]></style>${path}`))).toBe(3);
  });

  test('takes what Figma, Sketch and Illustrator write', () => {
    const figma = svg(
      `<g clip-path="url(#clip0)"><g filter="url(#f0)">${path}</g></g><defs><clipPath id="clip0"><rect/></clipPath>` +
        '<filter id="f0"><feFlood/><feColorMatrix/><feOffset/><feGaussianBlur/><feBlend/></filter></defs>',
    );
    const sketch = svg(
      `<defs><path id="p1" d="M0 0"/></defs><mask id="m"><use xlink:href="#p1"/></mask><use fill="#fff" xlink:href="#p1"/><g mask="url(#m)">${path}</g>`,
    );
    const illustrator = svg(
      `<style>.cls-1{fill:#f00;opacity:.5}</style>${'<path class="cls-1" d="M0 0"/>'.repeat(100)}`,
    );
    for (const logo of [figma, sketch, illustrator]) {
      expect(svgCost(logo)).toBeLessThan(svgCostMax);
    }
  });

  const doubled = Array.from({ length: 30 }, (_none, at) =>
    at === 0
      ? `<g id="l0">${path}</g>`
      : `<g id="l${at}"><use href="#l${at - 1}"/><use href="#l${at - 1}"/></g>`,
  ).join('');
  test.each<[string, string]>([
    ['doublings', doubled],
    [
      'doublings through masks',
      doubled.replaceAll(/<use href="(#\w+)"\/>/g, '<g mask="url($1)"/>'),
    ],
    ['a circle', '<g id="a"><use href="#b"/></g><g id="b"><use href="#a"/></g>'],
    ['itself', '<g id="a"><use href="#a"/></g>'],
    ['an id in disguise', `<g id="&#97;">${path}</g>`],
    ['many layers', '<g opacity=".5">'.repeat(500) + '</g>'.repeat(500)],
    ['layers by class', `<style>.a{opacity:.5}</style>${'<path class="a"/>'.repeat(500)}`],
    ['masks by class', `<style>.a{mask:url(#m)}</style>${path}`],
    ['many filter steps', `<filter>${'<feGaussianBlur/>'.repeat(21)}</filter>`],
    [
      'a filter used often',
      `<filter id="f"><feGaussianBlur/></filter>${'<g filter="url(#f)"/>'.repeat(20)}`,
    ],
    ['a costly filter', '<filter><feTurbulence/></filter>'],
    ['a pattern', '<pattern/>'],
    ['a marker', '<marker/>'],
    ['a picture', '<image href="data:image/png;base64,AAAA"/>'],
    ['dashes', '<path stroke-dasharray="0.0001"/>'],
    ['dashes in CSS', '<style>path{stroke-dasharray : .001}</style>'],
    ['what is no tree', '</g></g>'],
    ['very many elements', path.repeat(20_001)],
  ])('%s cost too much', (_name, inside) => {
    expect(svgCost(svg(inside))).toBeGreaterThan(svgCostMax);
  });

  test('depth is bounded, so the stack is', () => {
    expect(svgCost(svg('<g>'.repeat(200) + '</g>'.repeat(200)))).toBe(201);
    expect(svgCost(svg('<g>'.repeat(40_000) + '</g>'.repeat(40_000)))).toBe(Infinity);
  });

  test.each(['<!--', '<a "', "<a '", '<style>', '<![CDATA[', 'url(', '<?', '<a href="', ' '])(
    'a file full of %j is read in linear time',
    (piece) => {
      const text = svg(piece.repeat(260_000 / piece.length));
      const started = process.cpuUsage();
      svgCost(text);
      // Quadratic would be minutes.
      expect(process.cpuUsage(started).user).toBeLessThan(3_000_000);
    },
  );
});
