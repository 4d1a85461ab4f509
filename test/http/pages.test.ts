/** The pages of short links: small, self-contained, allowed by their own policy, and legible. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { errorPage, errorPageKinds, errorPagePolicy } from '../../src/http/pages.ts';

/** WCAG 2.2 contrast ratio of two `#rrggbb` colours. */
function contrast(first: string, second: string): number {
  const luminance = (colour: string): number => {
    const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
      const share = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [dark = 0, light = 0] = [luminance(first), luminance(second)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

const styleOf = (html: string): string => /<style>(.*)<\/style>/s.exec(html)?.[1] ?? '';

describe.each(errorPageKinds)('errorPage: %s', (kind) => {
  const { status, html, json } = errorPage(kind);

  it('is under 2 KB', () => {
    expect(Buffer.byteLength(html)).toBeLessThan(2_048);
    expect(Buffer.byteLength(json)).toBeLessThan(2_048);
  });

  it('loads nothing, runs nothing and links nowhere', () => {
    expect(html).not.toMatch(/https?:|\/\/|src=|href=|url\(|@import|<script|\son\w+=|style="/);
  });

  it('has a style sheet whose hash is in the policy, and the policy allows nothing else', () => {
    const hash = createHash('sha256').update(styleOf(html)).digest('base64');
    expect(errorPagePolicy).toContain(`style-src 'sha256-${hash}';`);
    expect(errorPagePolicy).toMatch(/^default-src 'none';/);
    expect(errorPagePolicy).not.toMatch(/unsafe|\*|https?:/);
  });

  it('names its language, title and one heading', () => {
    expect(html).toMatch(/^<!doctype html><html lang="en">/);
    const title = /<title>(.*)<\/title>/.exec(html)?.[1];
    expect(html.match(/<h1>/g)).toHaveLength(1);
    expect(html).toContain(`<h1>${title}</h1>`);
  });

  it('says the same in JSON', () => {
    const problem: Record<string, unknown> = JSON.parse(json);
    expect(problem).toMatchObject({ type: 'about:blank', status });
    expect(problem.code).toMatch(/^[a-z_]+$/);
    expect(html).toContain(String(problem.detail));
  });
});

describe('errorPage', () => {
  it('has the statuses of the contract', () => {
    const statuses = errorPageKinds.map((kind) => [kind, errorPage(kind).status]);
    expect(Object.fromEntries(statuses)).toEqual({
      unknown: 404,
      deleted: 410,
      paused: 410,
      not_started: 404,
      expired: 410,
      used_up: 410,
      damaged: 503,
      throttled: 429,
      method: 405,
      stale: 503,
    });
  });

  it('has text of 7:1 and drawing of 3:1 or more, light and dark', () => {
    const schemes = [...styleOf(errorPage('unknown').html).matchAll(/(--\w:#\w{6};?)+/g)];
    expect(schemes).toHaveLength(2);
    for (const [scheme] of schemes) {
      const colours = new Map(
        [...scheme.matchAll(/(--\w):(#\w{6})/g)].map(([, name, value]) => [name, value]),
      );
      const background = colours.get('--b') ?? '';
      expect(contrast(background, colours.get('--t') ?? '')).toBeGreaterThanOrEqual(7);
      expect(contrast(background, colours.get('--s') ?? '')).toBeGreaterThanOrEqual(7);
      expect(contrast(background, colours.get('--l') ?? '')).toBeGreaterThanOrEqual(3);
    }
  });
});
