import { getRandomValues } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { QrCodeRecord } from '../../src/model/code.ts';
import type { Failure } from '../../src/model/failure.ts';
import { idTimeMs } from '../../src/model/ids.ts';
import { actor, type CodesFixture, openCodes, stranger } from './codes-fixture.ts';

const target = 'https://example.com/';
const day = 86_400_000;

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

  test('keeps the short slugs that other tools gave', async () => {
    const { codes, links } = await openCodes();
    for (const slug of ['7', 'a1']) {
      const code = await codes.create(actor, { target, slug });
      expect(code.shortCode).toBe(slug);
      expect(links.live.get(slug.toUpperCase())).toMatchObject({ target, state: 'live' });
    }
  });

  test('a static code has no short code, no link, no shortUrl', async () => {
    const fixture = await openCodes();
    const code = await fixture.codes.create(actor, { type: 'text', target: 'Hello' });
    expect(code.dynamic).toBe(false);
    expect(code).not.toHaveProperty('shortCode');
    expect(fixture.codes.shortUrl(code)).toBeUndefined();
    expect(fixture.links.live.size).toBe(0);
    expect(bodies(fixture)[0]).not.toHaveProperty('data.shortUrl');
  });

  test('names every fault at once and writes nothing', async () => {
    const fixture = await openCodes();
    const work = fixture.codes.create(actor, {
      target: 'javascript:alert(1)',
      slug: 'API',
      metadata: Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`k${at}`, at])),
    });
    expect(await failureOf(work)).toBe('validation_failed target slug metadata');
    expect(fixture.outbox.lastSequence).toBe(0);
    expect(fixture.store.last('code')).toBe(0);
  });

  test('static types refuse dynamic, static codes refuse what needs a short link', async () => {
    const { codes } = await openCodes();
    const dynamicText = codes.create(actor, { type: 'text', target: 'x', dynamic: true });
    expect(await failureOf(dynamicText)).toBe('validation_failed dynamic');
    const staticSlug = codes.create(actor, { target, dynamic: false, slug: 'abc', scanLimit: 1 });
    expect(await failureOf(staticSlug)).toBe('validation_failed slug scanLimit');
  });

  test('a slug keeps its case, is taken in every case, and for ever', async () => {
    const fixture = await openCodes();
    const code = await fixture.codes.create(actor, { target, slug: 'Summer-24' });
    expect(code.shortCode).toBe('Summer-24');
    expect(fixture.links.live.has('SUMMER-24')).toBe(true);
    const again = (): Promise<string> =>
      failureOf(fixture.codes.create(stranger, { target, slug: 'sUMMER-24' }));
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

describe('find', () => {
  test('another workspace finds nothing, by any id', async () => {
    const { codes } = await openCodes();
    const code = await codes.create(actor, { target });
    expect(codes.find(2, code.id)).toBeUndefined();
    expect(codes.findKept(2, code.id)).toBeUndefined();
    expect(await failureOf(codes.change(stranger, code.id, { target }))).toBe('not_found');
    expect(await failureOf(codes.delete(stranger, code.id))).toBe('not_found');
    for (const id of ['', 'qr_', code.id.toUpperCase(), `${code.id}x`, 'x'.repeat(5_000)]) {
      expect(codes.find(1, id)).toBeUndefined();
    }
  });
});

describe('change', () => {
  test('moves the target, wakes the link, and emits only what changed', async () => {
    const fixture = await openCodes();
    const code = await fixture.codes.create(actor, { target, name: 'Old', tags: ['a'] });
    fixture.clock.move(5);
    const changed = await fixture.codes.change(actor, code.id, {
      target: 'https://example.org',
      name: null,
      tags: ['a'],
    });
    expect(changed).toEqual({
      ...code,
      target: 'https://example.org/',
      name: undefined,
      updatedAtMs: code.updatedAtMs + 5,
    });
    expect(changed).not.toHaveProperty('name');
    expect(fixture.codes.find(1, code.id)).toStrictEqual(changed);
    expect(fixture.links.live.get(code.shortCode!)?.target).toBe('https://example.org/');
    expect(bodies(fixture)[1]).toMatchObject({
      event: 'qr.updated',
      createdAt: '2026-03-04T05:06:07.013Z',
      data: {
        id: code.id,
        before: { target, name: 'Old' },
        after: { target: 'https://example.org/', name: null },
        updatedBy: actor.userId,
      },
    });
  });

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
    const code = await fixture.codes.create(actor, { target, dynamic: false });
    const moved = fixture.codes.change(actor, code.id, { target: 'https://example.org/' });
    expect(await failureOf(moved)).toBe('static_code');
    const named = await fixture.codes.change(actor, code.id, { target, name: 'New' });
    expect(named.name).toBe('New');
    expect(await failureOf(fixture.codes.change(actor, code.id, { scanLimit: 5 }))).toBe(
      'validation_failed scanLimit',
    );
  });

  test('names target and other faults at once', async () => {
    const { codes } = await openCodes();
    const code = await codes.create(actor, { target });
    const metadata = { note: 'x'.repeat(4_096) };
    const work = codes.change(actor, code.id, { target: 'x', metadata });
    expect(await failureOf(work)).toBe('validation_failed target metadata');
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

describe('replace', () => {
  test('sets what is absent to its default and keeps the identity', async () => {
    const fixture = await openCodes();
    const code = await fixture.codes.create(actor, {
      target,
      slug: 'keep-me',
      name: 'Old',
      tags: ['a'],
      scanLimit: 5,
      expiresAtMs: fixture.clock.now() + day,
      metadata: { a: 1 },
      externalId: 'mine',
    });
    const replaced = await fixture.codes.replace(actor, code.id, {
      target: 'https://example.org/',
    });
    expect(replaced).toMatchObject({
      shortCode: 'keep-me',
      tags: [],
      metadata: {},
    });
    for (const name of ['name', 'scanLimit', 'expiresAtMs', 'externalId'])
      expect(replaced).not.toHaveProperty(name);
    expect(bodies(fixture)[1]).toMatchObject({
      data: {
        before: { name: 'Old', tags: ['a'], scanLimit: 5, metadata: { a: 1 } },
        after: { name: null, tags: [], scanLimit: null, expiresAt: null, metadata: {} },
      },
    });
    expect(fixture.links.live.get('KEEP-ME')).toMatchObject({ scansLeft: -1, expiresAtMs: 0 });
  });
});

describe('delete', () => {
  test('is once; the record answers for 90 days and no longer', async () => {
    const fixture = await openCodes();
    const code = await fixture.codes.create(actor, { target });
    const deleted = await fixture.codes.delete(actor, code.id);
    expect(deleted.deletedAtMs).toBe(fixture.clock.now());
    expect(await failureOf(fixture.codes.delete(actor, code.id))).toBe('not_found');
    expect(fixture.codes.find(1, code.id)).toBeUndefined();
    expect(fixture.links.live.size).toBe(0);
    expect(bodies(fixture)[1]).toMatchObject({
      event: 'qr.deleted',
      data: { id: code.id, deletedBy: actor.userId },
    });
    fixture.clock.move(90 * day - 1);
    expect(fixture.codes.findKept(1, code.id)?.deletedAtMs).toBeDefined();
    expect(fixture.codes.findAnywhere(code.id)?.no).toBe(code.no);
    fixture.clock.move(1);
    expect(fixture.codes.findKept(1, code.id)).toBeUndefined();
  });

  test('of many at the same time one succeeds', async () => {
    const { codes } = await openCodes();
    const code = await codes.create(actor, { target });
    const ends = await Promise.all(
      Array.from({ length: 20 }, () => failureOf(codes.delete(actor, code.id))),
    );
    expect(ends.filter((end) => end === 'none')).toHaveLength(1);
  });
});

describe('the link table', () => {
  test('gets everything back after a restart, tombstones too', async () => {
    const fixture = await openCodes();
    const made: QrCodeRecord[] = [];
    for (let at = 0; at < 100; at++) {
      made.push(await fixture.codes.create(actor, { target: `https://example.com/${at}` }));
    }
    await fixture.codes.create(actor, { type: 'text', target: 'static' });
    await fixture.codes.delete(actor, made[40]!.id);
    await fixture.codes.change(actor, made[41]!.id, { target: 'https://example.org/' });
    const { live } = fixture.links;
    await fixture.restart();
    expect(fixture.links.live).toEqual(live);
    expect(fixture.links.deleted).toEqual(new Set([made[40]!.shortCode]));
    expect(fixture.store.last('code')).toBe(101);
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
});
