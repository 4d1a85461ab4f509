/**
 * Every bench still runs and its answers are right: parts check theirs before they time anything, loads
 * fail on an answer that is no redirect. No figure is checked here: a test machine measures nothing.
 */
import { describe, expect, it } from 'vitest';
import { partNames, runPart, runPartHere } from '../bench/parts.ts';
import { loads } from '../bench/loads/suite.ts';

/** Seconds on a machine that does nothing else. */
const loadMsMax = 240_000;
const tiny = { isQuick: true, isFull: false, rounds: 1, seconds: 0.1, previous: undefined };

describe('parts', () => {
  // One as the bench runs it, the others without a process each.
  it.each(partNames)('%s', async (name) => {
    const { question, rows } =
      name === 'sketch' ? await runPart(name, 'quick') : await runPartHere(name);
    expect(question).toMatch(/\?$/);
    expect(rows.length).toBeGreaterThan(0);
    for (const row of rows) expect(row.nanosecondsPerOperation).toBeGreaterThan(0);
  });
});

describe('loads', () => {
  it('durability: the service under load', { timeout: loadMsMax }, async () => {
    const { rows, text } = await loads['durability']!(tiny);
    expect(rows).toEqual(['process']);
    expect(text).toContain('process');
  });

  // The thread that redirects is known by the CPU of a burst: long enough to be the busiest by far.
  it('idle: every kind of thread has its figures', { timeout: loadMsMax }, async () => {
    const { rows, text } = await loads['idle']!({ ...tiny, seconds: 0.5 });
    expect(rows).toEqual(['ours']);
    for (const kind of ['main', 'redirect', 'shards']) expect(text).toMatch(`${kind} `);
  });

  it('fresh: a scan for each connection, plain and TLS', { timeout: loadMsMax }, async () => {
    const { rows, text } = await loads['fresh']!(tiny);
    expect(rows.filter((name) => name === 'bare uWS' || name === 'ours, socket')).toHaveLength(4);
    expect(text).toContain('plain, closed by the server');
    expect(text).toContain('tls, closed by the phone');
  });

  it('filtered: redirects beside a query over raw scans', { timeout: loadMsMax }, async () => {
    const { rows, text } = await loads['filtered']!({ ...tiny, seconds: 1 });
    expect(rows).toEqual(['alone', 'beside queries']);
    expect(text).toContain('queries answered');
  });

  it('soak: one code and many', { timeout: loadMsMax }, async () => {
    const { rows, text } = await loads['soak']!(tiny);
    expect(rows).toEqual(['one code', '200 codes']);
    expect(text).toContain('a million');
  });

  it('memory: the service within its limit, in use', { timeout: loadMsMax }, async () => {
    const { text } = await loads['memory']!(tiny);
    expect(text).toContain('100 scans, 100 received by webhook, 5 images drawn');
    expect(text).toContain('exit 0');
    expect(text).not.toContain('MISSED');
  });

  it('deliver: every delivery comes once, alone and in lists', { timeout: loadMsMax }, async () => {
    // Redirects end while deliveries wait that are queued for this time.
    const { text } = await loads['deliver']!({ ...tiny, seconds: 0.25 });
    expect(text).toContain('bare undici');
    expect(text).toContain('1500 scans/s');
    expect(text).toContain('deliveries saturated');
  });
});
