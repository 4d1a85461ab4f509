/** The chart of redirects in README: bars as long as their figures, texts that are text, shades that can be told apart. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Bar, type Chart, drawChart, themes } from '../bench/chart.ts';
import { contrast, parseColour } from '../src/model/design/colour.ts';

const bars: readonly Bar[] = [
  { name: 'bare', isOurs: false, redirect: 8, others: 0 },
  { name: 'ours', isOurs: true, redirect: 12, others: 4 },
  { name: 'most', isOurs: false, redirect: 36, others: 4 },
];
const chart: Chart = { bars, caption: ['2026-11-22, 2 × a machine', 'bare 8.0 µs'] };
const { light, dark } = themes;

/** The parts of every bar, by colour: their distance from the left and their length. */
function partsOf(svg: string, fill: string): Array<{ start: number; length: number }> {
  const parts = svg.matchAll(
    /<rect x="([\d.]+)" y="\d+" width="([\d.]+)" height="18" fill="(#\w+)"/g,
  );
  return [...parts]
    .filter(([, , , colour]) => colour === fill)
    .map(([, start, length]) => ({ start: Number(start), length: Number(length) }));
}

describe('chart', () => {
  const svg = drawChart(chart, light);

  it('draws bars in proportion to their figures', () => {
    const [bare, most] = partsOf(svg, light.rival.redirect);
    const [ours] = partsOf(svg, light.ours.redirect);
    expect(most!.length / bare!.length).toBeCloseTo(36 / 8, 1);
    expect(ours!.length / bare!.length).toBeCloseTo(12 / 8, 1);
  });

  it('sets the other threads behind the first, to the length of both', () => {
    const [ours] = partsOf(svg, light.ours.redirect);
    const [others] = partsOf(svg, light.ours.others);
    const end = others!.start + others!.length;
    expect(others!.start).toBeGreaterThan(ours!.start + ours!.length);
    expect((end - ours!.start) / ours!.length).toBeCloseTo(16 / 12, 1);
    expect(svg).toContain('>12.0 + 4.0</text>');
  });

  it('leaves out a part that rounds to nothing', () => {
    expect(partsOf(svg, light.rival.others)).toHaveLength(1);
    expect(svg).toContain('>8.0</text>');
  });

  it('ends every bar and its figures inside the picture', () => {
    const [most] = partsOf(svg, light.rival.others);
    const [, width] = /viewBox="0 0 (\d+) /.exec(svg)!;
    expect(most!.start + most!.length).toBeLessThan(Number(width) - 100);
  });

  it('escapes what it is given', () => {
    const name = 'a <b> & "c"';
    const drawn = drawChart({ bars: [{ ...bars[0]!, name }], caption: ['1 < 2 & 3'] }, light);
    expect(drawn).toContain('>a &lt;b&gt; &amp; "c"</text>');
    expect(drawn).toContain('>1 &lt; 2 &amp; 3</text>');
    expect(drawn).not.toMatch(/<b>|& /);
  });

  it('says in words what the bars show', () => {
    expect(svg).toContain('all threads: bare 8.0, ours 16.0, most 40.0</title>');
  });

  it('is the same for the same figures', () => {
    expect(drawChart(structuredClone(chart), light)).toBe(svg);
    expect(drawChart(chart, dark)).not.toBe(svg);
  });

  it('is in README, for both kinds of page', () => {
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
    for (const name of Object.keys(themes)) {
      const path = `.github/bench-${name}.svg`;
      expect(readme).toContain(`="${path}"`);
      expect(readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')).toMatch(
        /^<svg .*<\/svg>\n$/s,
      );
    }
  });

  // WCAG 2.2, 1.4.3 and 1.4.11.
  it.each(Object.entries(themes))('can be read: %s', (_, theme) => {
    const against = (colour: string): number =>
      contrast(parseColour(colour), parseColour(theme.background));
    for (const colour of [theme.text, theme.muted]) expect(against(colour)).toBeGreaterThan(4.5);
    for (const { redirect, others } of [theme.ours, theme.rival]) {
      expect(against(redirect)).toBeGreaterThan(3);
      expect(against(others)).toBeGreaterThan(3);
    }
  });
});
