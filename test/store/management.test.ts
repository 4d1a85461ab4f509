import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { packCode, unpackCode } from '../../src/store/management/code-codec.ts';
import { before, endOf, positionOf, termKey } from '../../src/store/management/code-keys.ts';
import { managementVersion, openManagement } from '../../src/store/management/management.ts';
import { type EnvironmentVersion, openEnvironment } from '../../src/store/open-environment.ts';
import type { QrCodeRecord } from '../../src/model/code.ts';
import { StoredBytes } from '../support/stored-bytes.ts';
import { temporaryFolder, temporaryManagement } from './temporary-management.ts';

type Steps = EnvironmentVersion['migrations'];
const opened = (path: string, version: number, migrations: Steps = []) =>
  openEnvironment(path, { version, migrations }, 'create').environment;
const started = async (): Promise<string> => {
  const path = join(temporaryFolder(), 'management.mdb');
  await opened(path, 1).close();
  return path;
};

test('openEnvironment migrates the data of the service step by step, once', async () => {
  const path = join(temporaryFolder(), 'management.mdb');
  const { version } = managementVersion;
  const first = openManagement(path, 'create');
  await first.environment.transaction(() => first.codeIds.put('qr_1', 7));
  await first.close();
  const raise: Steps[number] = (environment) => {
    const ids = environment.table<string, number>('code_ids');
    ids.put('qr_1', ids.get('qr_1')! * 10);
  };
  const migrations = [...managementVersion.migrations, raise, raise];
  const later = { version: version + 2, migrations };
  for (let opening = 0; opening < 2; opening++) {
    const { environment, meta } = openEnvironment(path, later);
    expect(meta.get('schema')).toBe(version + 2);
    expect(environment.table('code_ids').get('qr_1')).toBe(700);
    await environment.close();
  }
  expect(() => openManagement(path)).toThrow(
    `has version ${version + 2}, expected ${version} or older`,
  );
});

test('a migration that dies repeats only its own step', async () => {
  const path = await started();
  const taken: string[] = [];
  const dies = (): void => {
    throw new Error('killed');
  };
  const first = (): void => void taken.push('first');
  expect(() => opened(path, 3, [first, dies])).toThrow('killed');
  await opened(path, 3, [first, () => void taken.push('second')]).close();
  expect(taken).toEqual(['first', 'second']);
});

test('openEnvironment refuses a version that is damaged in both copies, with the name of the file', async () => {
  const path = await started();
  const stored = new StoredBytes(path);
  for (const name of ['meta', 'meta_copy']) stored.flip(name, stored.keys(name)[0]!, 9);
  await stored.close();
  expect(() => opened(path, 1)).toThrow(`Cannot open ${path}: meta_copy has a damaged record`);
});
test('a transaction that throws is undone, and those of its batch are not', async () => {
  const { store } = temporaryManagement();
  const take = async (): Promise<number> =>
    await store.environment.transaction(() => store.next('event'));
  const work = store.environment.transaction(() => {
    store.meta.put('next:code', 9);
    throw new Error('too late');
  });
  const all = await Promise.allSettled([take(), work, take()]);
  expect(all.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect([store.last('code'), store.last('event')]).toEqual([0, 2]);
});

test.each(['transaction', 'applyWrites'] as const)(
  'what %s commits while the environment closes is stored, and no reader is notified',
  async (kind) => {
    const temporary = temporaryManagement();
    const { environment, meta } = temporary.store;
    const seen: unknown[] = [];
    environment.committed.listen(() => seen.push(meta.get('last')));
    const commit = (value: number): Promise<void> => {
      const put = (): void => meta.put('last', value);
      return kind === 'transaction'
        ? environment.transaction(put)
        : environment.applyWrites([], put);
    };
    await commit(1);
    const committing = commit(2);
    const reopened = temporary.reopen();
    await committing;
    expect([seen, (await reopened).meta.get('last')]).toEqual([[1], 2]);
  },
);

const text = fc.string({ unit: 'grapheme', maxLength: 20 });
const position = fc.record({
  createdAtMs: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
  no: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
});

test('term keys carry their position and sort by it within a term', () => {
  fc.assert(
    fc.property(text, position, position, (tag, one, other) => {
      const term = { kind: 'tag', text: tag } as const;
      const [first, second] = [termKey(7, term, one), termKey(7, term, other)];
      expect(positionOf(first)).toEqual(one);
      const order = one.createdAtMs - other.createdAtMs || one.no - other.no;
      expect(Math.sign(Buffer.compare(first, second))).toBe(Math.sign(order));
      expect(Buffer.compare(termKey(7, term, before(one)), first)).toBe(-1);
      expect(Buffer.compare(first, termKey(7, term, endOf(one.createdAtMs)))).toBeLessThan(1);
    }),
  );
});

test('term keys of one term never stand between those of another', () => {
  fc.assert(
    fc.property(text, text, position, position, position, (tag, other, low, between, high) => {
      fc.pre(tag !== other);
      const key = (of: string, at: typeof low): Buffer => termKey(7, { kind: 'tag', text: of }, at);
      const ends = [key(tag, low), key(tag, high)].sort((one, two) => Buffer.compare(one, two));
      const stranger = key(other, between);
      const inside =
        Buffer.compare(ends[0]!, stranger) < 0 && Buffer.compare(stranger, ends[1]!) < 0;
      expect(inside).toBe(false);
    }),
  );
});
test('a code survives packing', () => {
  const least: QrCodeRecord = {
    id: 'qr_0123456789abcdefghjk',
    no: 7,
    workspaceId: 'ws_0123456789abcdefghjk',
    workspaceNo: 3,
    type: 'url',
    target: 'https://example.com/',
    dynamic: true,
    tags: [],
    metadata: {},
    createdAtMs: 3,
    updatedAtMs: 4,
    createdBy: 'usr_0123456789abcdefghjk',
  };
  const more = { tags: ['a'], expiresAtMs: 1, scanLimit: 2, externalId: 'x', deletedAtMs: 5 };
  const names = { shortCode: 'ABCDEFGH', name: 'Name', metadata: { a: { b: [1, null] } } };
  for (const code of [least, { ...least, ...more, ...names }]) {
    expect(unpackCode(7, packCode(code))).toStrictEqual(code);
  }
});
