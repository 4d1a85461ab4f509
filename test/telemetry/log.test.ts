/** Logs: one line an entry, no secrets, whatever is logged. */
import { expect, test } from 'vitest';
import { createLog } from '../../src/telemetry/log.ts';

function collect(): { lines: string[]; log: ReturnType<typeof createLog> } {
  const lines: string[] = [];
  return { lines, log: createLog('info', { write: (line) => void lines.push(line) }) };
}

test('secrets, e-mails and client addresses are redacted, also inside objects', () => {
  const { lines, log } = collect();
  log.info({ token: 's3cret', email: 's3cret' }, 'a');
  log.info({ request: { authorization: 's3cret', headers: { cookie: 's3cret' } } }, 'b');
  log.info(
    { user: { password: 's3cret' }, clientAddress: 's3cret', 'x-forwarded-for': 's3cret' },
    'c',
  );
  log.info({ request: { 'x-forwarded-for': 's3cret', ip: 's3cret' } }, 'd');
  expect(lines).toHaveLength(4);
  for (const line of lines) {
    expect(line).not.toContain('s3cret');
    expect(line).toContain('[redacted]');
  }
});

test('line breaks in a value stay inside their line', () => {
  const { lines, log } = collect();
  log.warn({ name: 'a\n{"level":"fatal"}\r\nb' }, 'c\nd');
  expect(lines).toHaveLength(1);
  expect(lines[0]?.trimEnd()).not.toMatch(/[\r\n]/);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'warn', service: 'quietzone' });
});
