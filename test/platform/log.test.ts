/** Logs: one line an entry, no secrets, whatever is logged. */
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, it, test } from 'vitest';
import { LogDestination } from '../../src/platform/log-destination.ts';
import { createLog } from '../../src/platform/log.ts';
import { sparseWarning } from '../../src/platform/sparse-warning.ts';
import { runs } from '../seconds/runs.ts';
import { openReader, openWriter, readAll } from '../support/named-pipe.ts';

function collect(): { lines: string[]; log: ReturnType<typeof createLog> } {
  const lines: string[] = [];
  return { lines, log: createLog('info', { write: (line) => void lines.push(line) }) };
}

test('secrets, e-mails and client addresses are redacted, also inside objects', () => {
  const { lines, log } = collect();
  const secrets = [
    { token: 's3cret', email: 's3cret' },
    { request: { authorization: 's3cret', headers: { cookie: 's3cret' } } },
    { user: { password: 's3cret' }, clientAddress: 's3cret', 'x-forwarded-for': 's3cret' },
    { request: { 'x-forwarded-for': 's3cret', ip: 's3cret' } },
  ];
  for (const fields of secrets) log.info(fields, 'a');
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

/**
 * Lines of the log against readers that stall, go away and come back: whole, in order, each lost one is reported. The
 * service beside a reader that stalls: test/flows/log.test.ts.
 */

let folder: string;
let pipe: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'quietzone-log-'));
  pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
});
afterEach(() => rmSync(folder, { recursive: true }));

const lineOf = (at: number): string => `{"at":${at},"text":"${'x'.repeat(at % 300)}"}\n`;
type Told = { readonly at: number } | { readonly lost: number };
const parse = (text: string): Told[] =>
  text.split('\n').flatMap((line): Told[] => (line === '' ? [] : [JSON.parse(line)]));

function destinationOn(descriptor: number, write?: typeof writeNothing): LogDestination {
  const destination: LogDestination = new LogDestination({
    descriptor,
    onLost: (lost) => destination.write(`{"lost":${lost}}\n`),
    ...(write && { write }),
  });
  return destination;
}

const writeNothing = (_descriptor: number, bytes: Uint8Array): number => bytes.length;

/** Every line that was written, in order: read, or told as lost in its place. */
function expectAll(told: readonly Told[], count: number): void {
  let at = 0;
  for (const line of told) {
    if ('lost' in line) at += line.lost;
    else expect(line.at).toBe(at++);
  }
  expect(at).toBe(count);
}

it('a reader that is gone has a successor, who gets each line whole, also where one was cut', () => {
  const reader = openReader(pipe);
  const writer = openWriter(pipe);
  const destination = destinationOn(writer);
  // More than the pipe takes at once: a part of it stays in the pipe.
  const long = `{"at":0,"text":"${'y'.repeat(65_000)}"}\n`;
  destination.write(long);
  destination.write(long);
  closeSync(reader);
  destination.write(lineOf(2));
  const next = openReader(pipe);
  let text = readAll(next);
  destination.flush(0);
  text += readAll(next);
  destination.write(lineOf(3));
  text += readAll(next);
  expect(text.slice(text.lastIndexOf('{"at":0'))).toBe(`${long}${lineOf(2)}${lineOf(3)}`);
  closeSync(writer);
  closeSync(next);
});

it('loses none in silence, whatever the system takes and refuses', () => {
  const answer = fc.oneof(
    fc.constantFrom('EAGAIN', 'ENOSPC', 'EIO', 'EDQUOT'),
    fc.integer({ min: 1, max: 400 }),
  );
  fc.assert(
    fc.property(fc.array(answer), fc.integer({ min: 1, max: 900 }), (answers, count) => {
      let text = '';
      let at = 0;
      let isOpen = false;
      const destination = destinationOn(-1, (_descriptor, bytes) => {
        const next = isOpen ? bytes.length : (answers[at++ % answers.length] ?? 'EAGAIN');
        if (typeof next === 'string') throw Object.assign(new Error(next), { code: next });
        const taken = bytes.subarray(0, next);
        text += Buffer.from(taken).toString();
        return taken.length;
      });
      for (let line = 0; line < count; line++) destination.write(lineOf(line));
      isOpen = true;
      destination.flush(0);
      destination.write(lineOf(count));
      expectAll(parse(text), count + 1);
    }),
    { numRuns: runs(40) },
  );
});

it('the end waits for a slow reader, for a while', () => {
  let text = '';
  let refusals = 0;
  const destination = destinationOn(-1, (_descriptor, bytes) => {
    if (refusals++ % 3 > 0) throw Object.assign(new Error('full'), { code: 'EAGAIN' });
    text += Buffer.from(bytes.subarray(0, 50)).toString();
    return Math.min(bytes.length, 50);
  });
  for (let at = 0; at < 9; at++) destination.write(lineOf(at));
  destination.flush(5_000);
  expectAll(parse(text), 9);
});

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
