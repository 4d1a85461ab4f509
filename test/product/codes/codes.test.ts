import { getRandomValues } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Failure } from '../../../src/model/failure.ts';
import { idTimeMs } from '../../../src/model/ids.ts';
import { actor, type CodesFixture, openCodes, stranger } from './codes-fixture.ts';

const target = 'https://example.com/';

/** Name and paths of the failure a promise ends in. */
async function failureOf(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'none',
    ({ code, faults }: Failure) => [code, ...(faults ?? []).map((f) => f.path)].join(' '),
  );
}

const bodies = (fixture: CodesFixture): unknown[] =>
  fixture.outbox.after(0, 1_000).map(({ body }) => JSON.parse(body) as unknown);

describe('create', () => {
  test('a dynamic code has record, short code, link and event when the promise resolves', async () => {
    const fixture = await openCodes();
    const code = await fixture.codes.create(actor, {
      target: 'https://EXAMPLE.com',
      tags: ['a', 'a', 'b'],
    });
    expect(code).toMatchObject({ no: 1, type: 'url', target, dynamic: true, tags: ['a', 'b'] });
    expect(code.shortCode).toMatch(/^[0-9A-HJKMNP-TV-Z]{8}$/);
    expect(idTimeMs(code.id)).toBe(code.createdAtMs);
    expect(fixture.codes.find(1, code.id)).toEqual(code);
    expect(fixture.links.live.get(code.shortCode!)).toEqual({
      key: code.shortCode,
      codeNo: 1,
      workspaceNo: 1,
      target,
      expiresAtMs: 0,
      scansLeft: -1,
      state: 'live',
    });
    expect(bodies(fixture)).toEqual([
      {
        id: expect.stringMatching(/^evt_/),
        event: 'qr.created',
        createdAt: '2026-03-04T05:06:07.008Z',
        data: {
          id: code.id,
          type: 'url',
          target,
          dynamic: true,
          shortUrl: `http://localhost:8081/${code.shortCode}`,
          createdBy: actor.userId,
        },
      },
    ]);
  });

  test('a slug keeps its case, is taken in every case, and for ever', async () => {
    const fixture = await openCodes();
    const code = await fixture.codes.create(actor, { target, slug: 'Summer-24' });
    expect(code.shortCode).toBe('Summer-24');
    expect(fixture.links.live.has('SUMMER-24')).toBe(true);
    const again = () => failureOf(fixture.codes.create(stranger, { target, slug: 'sUMMER-24' }));
    expect(await again()).toBe('slug_taken slug');
    await fixture.codes.delete(actor, code.id);
    expect(await again()).toBe('slug_taken slug');
    await fixture.restart();
    expect(await again()).toBe('slug_taken slug');
  });

  test('of many that want one slug at the same time one gets it', async () => {
    const { codes, outbox } = await openCodes();
    const tries = Array.from({ length: 50 }, () =>
      failureOf(codes.create(actor, { target, slug: 'one' })),
    );
    const ends = await Promise.all(tries);
    expect(ends.filter((end) => end === 'none')).toHaveLength(1);
    expect(ends.filter((end) => end === 'slug_taken slug')).toHaveLength(49);
    expect(outbox.lastSequence).toBe(1);
  });

  test('a generated code that is taken is drawn again', async () => {
    let draws = 0;
    const { codes } = await openCodes({
      randomBytes: (bytes) => (draws++ < 3 ? bytes.fill(1) : getRandomValues(bytes)),
    });
    const first = await codes.create(actor, { target });
    const second = await codes.create(actor, { target });
    expect(first.shortCode).toBe('11111111');
    expect(second.shortCode).not.toBe('11111111');
    expect(draws).toBe(4);
  });

  test('randomness that is broken ends in an error, not in a loop', async () => {
    const { codes, outbox } = await openCodes({ randomBytes: (bytes) => bytes.fill(1) });
    await codes.create(actor, { target });
    await expect(codes.create(actor, { target })).rejects.toThrow('free short code');
    expect(outbox.lastSequence).toBe(1);
  });

  test('what runs inTransaction is in the same transaction', async () => {
    const { codes, store } = await openCodes();
    const code = await codes.create(actor, { target }, (made) => {
      store.meta.put('next:workspace', made.no + 41);
    });
    expect(store.last('workspace')).toBe(code.no + 40);
  });
});

describe('change', () => {
  test('that changes nothing emits nothing and leaves updatedAt', async () => {
    const fixture = await openCodes();
    const metadata = { a: 1, b: { c: [1] } };
    const code = await fixture.codes.create(actor, { target, metadata, tags: ['x'] });
    fixture.clock.move(5);
    const change = {
      target: 'https://EXAMPLE.com:443',
      metadata: { b: { c: [1] } },
      tags: ['x', 'x'],
    };
    const same = await fixture.codes.change(actor, code.id, change);
    expect(same).toEqual(code);
    expect(fixture.outbox.lastSequence).toBe(1);
  });

  test('merges metadata at every depth, and checks the result', async () => {
    const { codes } = await openCodes();
    const code = await codes.create(actor, { target, metadata: { a: { b: 1, c: 2 }, d: [1] } });
    const metadata = { a: { b: null, e: 3 }, d: [2], f: { g: null } };
    const changed = await codes.change(actor, code.id, { metadata });
    expect(changed.metadata).toEqual({ a: { c: 2, e: 3 }, d: [2], f: {} });
    const large = codes.change(actor, code.id, { metadata: { z: 'x'.repeat(4_090) } });
    expect(await failureOf(large)).toBe('validation_failed metadata');
    const emptied = await codes.change(actor, code.id, { metadata: null });
    expect(emptied.metadata).toEqual({});
  });

  test('a static code keeps its target and may change the rest', async () => {
    const fixture = await openCodes();
    const fields = { target, dynamic: false, slug: 'abc', scanLimit: 1 };
    expect(await failureOf(fixture.codes.create(actor, fields))).toBe(
      'validation_failed slug scanLimit',
    );
    const code = await fixture.codes.create(actor, { target, dynamic: false });
    const moved = fixture.codes.change(actor, code.id, { target: 'https://example.org/' });
    expect(await failureOf(moved)).toBe('static_code');
    const named = await fixture.codes.change(actor, code.id, { target, name: 'New' });
    expect(named.name).toBe('New');
    expect(await failureOf(fixture.codes.change(actor, code.id, { scanLimit: 5 }))).toBe(
      'validation_failed scanLimit',
    );
  });

  test('of many at the same time the last committed is what the link table has', async () => {
    const fixture = await openCodes();
    const code = await fixture.codes.create(actor, { target });
    const targets = Array.from({ length: 200 }, (_, at) => `https://example.com/${at}`);
    await Promise.all(targets.map((to) => fixture.codes.change(actor, code.id, { target: to })));
    const stored = fixture.codes.find(1, code.id)!.target;
    expect(fixture.links.live.get(code.shortCode!)?.target).toBe(stored);
    // Each event begins where the one before it ended.
    let last: unknown = target;
    for (const event of fixture.outbox.after(1, 1_000)) {
      const { data }: { data: Record<string, { target: string }> } = JSON.parse(event.body);
      expect(data.before?.target).toBe(last);
      last = data.after?.target;
    }
    expect(last).toBe(stored);
  });

  test('a change and a deletion at the same time leave the link retired', async () => {
    for (let round = 0; round < 10; round++) {
      const fixture = await openCodes();
      const code = await fixture.codes.create(actor, { target });
      const change = (at: number): Promise<string> =>
        failureOf(fixture.codes.change(actor, code.id, { target: `https://example.com/${at}` }));
      await Promise.all([change(1), fixture.codes.delete(actor, code.id), change(2)]);
      expect(fixture.links.deleted.has(code.shortCode!)).toBe(true);
      expect(fixture.links.live.has(code.shortCode!)).toBe(false);
    }
  });
});

test('of many deletions at the same time one succeeds', async () => {
  const { codes } = await openCodes();
  const code = await codes.create(actor, { target });
  const ends = await Promise.all(
    Array.from({ length: 20 }, () => failureOf(codes.delete(actor, code.id))),
  );
  expect(ends.filter((end) => end === 'none')).toHaveLength(1);
});

test('a limited code has limit minus counted scans; a change that leaves the limit leaves the counter', async () => {
  const fixture = await openCodes();
  const code = await fixture.codes.create(actor, { target, scanLimit: 10 });
  const left = (): number | undefined => fixture.links.live.get(code.shortCode!)?.scansLeft;
  expect(left()).toBe(10);
  fixture.links.addScans(code.shortCode!, -4);
  await fixture.codes.change(actor, code.id, { target: 'https://example.org/' });
  expect(left()).toBe(6);
  // Exact although none of the four is counted yet.
  await fixture.codes.change(actor, code.id, { scanLimit: 12 });
  expect(left()).toBe(8);
  fixture.scans.set(code.no, 4);
  await fixture.restart();
  expect(left()).toBe(8);
  await fixture.codes.change(actor, code.id, { scanLimit: 3 });
  expect(left()).toBe(-1);
  await fixture.restart();
  await fixture.codes.change(actor, code.id, { scanLimit: 6 });
  expect(left()).toBe(2);
  await fixture.codes.change(actor, code.id, { scanLimit: null });
  expect(left()).toBe(-1);
  await fixture.codes.change(actor, code.id, { scanLimit: 5 });
  expect(left()).toBe(1);
});
