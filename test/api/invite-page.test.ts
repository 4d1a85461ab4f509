/** The page an invite leads to: what it may load and call is named by its policy, and is what it holds. */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { invitePage } from '../../src/api/invite-page.ts';

test('its policy allows its own script and style by hash, calls to itself, and nothing else', () => {
  const { status, headers, body } = invitePage();
  const html = typeof body === 'string' ? body : '';
  const hashOf = (element: string): string => {
    const inside = new RegExp(`<${element}>([\\s\\S]*?)</${element}>`).exec(html)?.[1] ?? '';
    return `'sha256-${createHash('sha256').update(inside).digest('base64')}'`;
  };
  expect(status).toBe(200);
  const policy = headers['Content-Security-Policy'] ?? '';
  expect(policy.split('; ').toSorted()).toEqual([
    "base-uri 'none'",
    "connect-src 'self'",
    "default-src 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    'img-src data:',
    `script-src ${hashOf('script')}`,
    `style-src ${hashOf('style')}`,
  ]);
  expect(headers['Referrer-Policy']).toBe('no-referrer');
  expect(html).not.toMatch(/(?:src|href)="https?:/);
});
