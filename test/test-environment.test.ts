/** Tests run in one language, time zone and file mask: another machine's change no result. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const config = fileURLToPath(new URL('../config/vitest.ts', import.meta.url));

/** What a worker has: a process that starts once the configuration is loaded. */
const script = `
  process.umask(0o077);
  await import(${JSON.stringify(config)});
  const { execFileSync } = await import('node:child_process');
  const worker = 'const { locale, timeZone } = Intl.DateTimeFormat().resolvedOptions();' +
    'console.log(locale, timeZone, process.umask().toString(8));';
  process.stdout.write(execFileSync(process.execPath, ['--eval', worker], { encoding: 'utf8' }));
`;

it.each([{ LANG: 'tr_TR.UTF-8' }, { LC_ALL: 'de_DE.UTF-8' }])('%o, Asia/Kathmandu, 077', (own) => {
  const env = { ...process.env, LC_ALL: '', TZ: 'Asia/Kathmandu', ...own };
  const args = ['--input-type=module', '--eval', script];
  expect(execFileSync(process.execPath, args, { env, encoding: 'utf8' })).toBe('en-US UTC 22\n');
});
