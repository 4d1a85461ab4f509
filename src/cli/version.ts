import { readFileSync } from 'node:fs';

/** Of package.json. */
export function version(): string {
  const manifest: unknown = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  );
  return String(Reflect.get(Object(manifest), 'version'));
}
