/** What may never be in a log: keys, secrets, passwords, addresses of clients; and one JSON line an entry. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { RunningService } from './running-service.ts';

/** @param secrets what this test knows beside those of the data folder: keys, passwords, addresses */
export function expectCleanLog(service: RunningService, secrets: readonly string[]): void {
  expect(service.logEntries.length).toBeGreaterThan(0);
  const key = readFileSync(join(service.dataDir, 'visitor.key'));
  const signing = readFileSync(join(service.dataDir, 'signing-keys.json'), 'utf8');
  const forbidden = [
    ...secrets,
    ...secrets.filter((secret) => secret.startsWith('ey')).map((jwt) => jwt.split('.')[2] ?? jwt),
    ...(signing.match(/"[\w+/=-]{20,}"/g) ?? []).map((text) => text.slice(1, -1)),
    key.toString('hex'),
    key.toString('base64'),
  ];
  for (const secret of forbidden) {
    expect(secret.length).toBeGreaterThan(6);
    expect(service.stderr).not.toContain(secret);
  }
  expect(service.stderr).not.toMatch(/Bearer |authorization/i);
  // A token begins so, and in another case a random id may.
  expect(service.stderr).not.toMatch(/eyJ[\w-]{10}/);
}
