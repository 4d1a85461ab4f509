import { expect, test } from 'vitest';
import { createLog } from '../../src/telemetry/log.ts';
import { sparseWarning } from '../../src/telemetry/sparse-warning.ts';

test('a warning is told at once, then every 10 s, with what it was told last', () => {
  const lines: string[] = [];
  const log = createLog('warn', { write: (line) => void lines.push(line) });
  let nowMs = 0;
  const warn = sparseWarning(log, { monotonicMs: () => nowMs }, 'waiting');
  for (; nowMs < 21_000; nowMs += 500) warn({ tries: nowMs / 500 });
  expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject([
    { level: 'warn', msg: 'waiting', tries: 0 },
    { level: 'warn', msg: 'waiting', tries: 20 },
    { level: 'warn', msg: 'waiting', tries: 40 },
  ]);
});
