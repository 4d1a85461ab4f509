/** The session cookie over https; the rest of it is in session.test.ts. */
import { expect, test } from 'vitest';
import { SessionCookie } from '../../src/api/workspaces/cookie.ts';

test('over https the cookie is Secure and bound to this host', () => {
  const cookie = new SessionCookie('https://qr.example.com');
  expect(cookie.begin('s')).toBe(
    '__Host-quietzone=s; Max-Age=2592000; Path=/; HttpOnly; SameSite=Lax; Secure',
  );
  expect(cookie.end()).toMatch(/^__Host-quietzone=; Max-Age=0; .*Secure$/);
});
