/** The loads of the bench that `npm test` leaves out still run; it runs `durability` and `deliver`. */
import { expect, it } from 'vitest';
import { loads } from '../bench/loads/suite.ts';

const timeout = 240_000;
const tiny = { isQuick: true, isFull: false, rounds: 1, seconds: 0.1, previous: undefined };

// The thread that redirects is known by the CPU of a burst: long enough to be the busiest by far.
it('idle: every kind of thread has its figures', { timeout }, async () => {
  const { rows, text } = await loads['idle']!({ ...tiny, seconds: 0.5 });
  expect(rows).toEqual(['ours']);
  for (const kind of ['main', 'redirect', 'shards']) expect(text).toMatch(`${kind} `);
});

it('fresh: a scan for each connection, plain and TLS', { timeout }, async () => {
  const { rows, text } = await loads['fresh']!(tiny);
  expect(rows.filter((name) => name === 'bare uWS' || name === 'ours, socket')).toHaveLength(4);
  expect(text).toContain('plain, closed by the server');
  expect(text).toContain('tls, closed by the phone');
});

it('filtered: redirects beside a query over raw scans', { timeout }, async () => {
  const { rows, text } = await loads['filtered']!({ ...tiny, seconds: 1 });
  expect(rows).toEqual(['alone', 'beside queries']);
  expect(text).toContain('queries answered');
});

it('soak: one code and many', { timeout }, async () => {
  const { rows, text } = await loads['soak']!(tiny);
  expect(rows).toEqual(['one code', '200 codes']);
  expect(text).toContain('a million');
});

it('memory: the service within its limit, in use', { timeout }, async () => {
  const { text } = await loads['memory']!(tiny);
  expect(text).toContain('100 scans, 100 received by webhook, 5 images drawn');
  expect(text).toContain('exit 0');
  expect(text).not.toContain('MISSED');
});

it('takeover: the API and redirects answer again', { timeout }, async () => {
  const { rows } = await loads['takeover']!(tiny);
  expect(rows).toEqual(['1000 codes']);
});
