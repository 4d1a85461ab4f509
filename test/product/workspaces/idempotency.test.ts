import { createSecretKey, getRandomValues } from 'node:crypto';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Actor } from '../../../src/model/workspace.ts';
import {
  answerName,
  Idempotency,
  type IdempotentRequest,
  isFinal,
  type KeptAnswer,
  requestFingerprint,
} from '../../../src/product/workspaces/idempotency.ts';
import { SecretCipher } from '../../../src/product/workspaces/secret-cipher.ts';
import { actor, openCodes } from '../codes/codes-fixture.ts';
import { temporaryManagement } from '../../store/temporary-management.ts';
import { TestClock } from '../../support/fakes/test-clock.ts';

const answer = (body: string, status = 201): KeptAnswer => ({
  status,
  headers: { Location: `/v1/qr-codes/${body}` },
  body,
});
const day = 86_400_000;
const sender: Actor = { userId: 'usr_1', workspaceId: 'ws_1', workspaceNo: 1, role: 'owner' };
const of = (workspaceNo: number, key: string, fingerprint: string): IdempotentRequest => {
  return { workspaceNo, name: answerName(sender, key), fingerprint };
};

const secret = createSecretKey(Buffer.alloc(32, 7));
const cipher = new SecretCipher(() => secret, getRandomValues);

function openIdempotency() {
  const temporary = temporaryManagement();
  const clock = new TestClock();
  let made = 0;
  const work = async (): Promise<KeptAnswer> => {
    made++;
    const body = `thing ${made}`;
    await yieldToEventLoop();
    return answer(body);
  };
  return {
    temporary,
    clock,
    work,
    made: () => made,
    keys: new Idempotency(temporary.store, clock, cipher),
  };
}

describe('run', () => {
  test('does the work once and gives its answer again, also after a restart', async () => {
    const { temporary, clock, work, made, keys } = openIdempotency();
    expect(await keys.run(of(1, 'k', 'f'), work)).toEqual({
      answer: answer('thing 1'),
      replayed: false,
    });
    expect(await keys.run(of(1, 'k', 'f'), work)).toEqual({
      answer: answer('thing 1'),
      replayed: true,
    });
    await temporary.reopen();
    const reopened = new Idempotency(temporary.store, clock, cipher);
    expect(await reopened.run(of(1, 'k', 'f'), work)).toEqual({
      answer: answer('thing 1'),
      replayed: true,
    });
    expect(made()).toBe(1);
  });

  test('of a hundred at the same time one works', async () => {
    const { work, made, keys } = openIdempotency();
    const runs = await Promise.all(
      Array.from({ length: 100 }, () => keys.run(of(1, 'k', 'f'), work)),
    );
    expect(made()).toBe(1);
    expect(runs.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(new Set(runs.map((run) => run.answer.body))).toEqual(new Set(['thing 1']));
  });

  test('another request under the key is a conflict, while the first works and after', async () => {
    const { work, made, keys } = openIdempotency();
    const first = keys.run(of(1, 'k', 'f'), work);
    const conflict = { code: 'idempotency_conflict' };
    await expect(keys.run(of(1, 'k', 'other'), work)).rejects.toMatchObject(conflict);
    await first;
    await expect(keys.run(of(1, 'k', 'other'), work)).rejects.toMatchObject(conflict);
    expect(made()).toBe(1);
  });

  const kept = [200, 201, 202, 404, 409, 410, 422];
  const passing = [400, 401, 402, 403, 408, 413, 415, 429, 500, 503, 507];
  test.each([...kept, ...passing])(
    'an answer %i is kept when it would not change',
    async (status) => {
      const { keys } = openIdempotency();
      const run = async (): Promise<boolean> => {
        const work = async () => await Promise.resolve(answer('x', status));
        return (await keys.run(of(1, 'k', 'f'), work)).replayed;
      };
      expect([await run(), await run()]).toEqual([false, kept.includes(status)]);
      expect(isFinal(status)).toBe(kept.includes(status));
    },
  );

  test('a request that waits for one that fails works itself', async () => {
    const { work, made, keys } = openIdempotency();
    const fails = async (): Promise<KeptAnswer> => {
      await yieldToEventLoop();
      throw new Error('broken');
    };
    const first = expect(keys.run(of(1, 'k', 'f'), fails)).rejects.toThrow('broken');
    const others = await Promise.all([
      keys.run(of(1, 'k', 'f'), work),
      keys.run(of(1, 'k', 'f'), work),
    ]);
    await first;
    expect(made()).toBe(1);
    expect(new Set(others.map(({ replayed }) => replayed))).toEqual(new Set([false, true]));
  });

  test('an answer is over after 24 hours and is removed; a new one under the key stays', async () => {
    const { temporary, clock, work, made, keys } = openIdempotency();
    await keys.run(of(1, 'k', 'f'), work);
    await keys.run(of(1, 'l', 'f'), work);
    clock.move(day - 1);
    expect(await keys.expire()).toBe(0);
    expect((await keys.run(of(1, 'k', 'f'), work)).replayed).toBe(true);
    clock.move(1);
    expect((await keys.run(of(1, 'k', 'other'), work)).replayed).toBe(false);
    expect(made()).toBe(3);
    clock.move(1);
    expect([await keys.expire(1), await keys.expire(), await keys.expire()]).toEqual([1, 1, 0]);
    expect((await keys.run(of(1, 'k', 'other'), work)).replayed).toBe(true);
    expect(temporary.store.idempotency.count({})).toBe(1);
  });

  test('a key of another form is refused', () => {
    for (const key of ['', ' ', 'a b', 'é', 'a\u0000', 'x'.repeat(256)]) {
      const refused = expect.objectContaining({ code: 'validation_failed' });
      expect(() => answerName(sender, key), JSON.stringify(key)).toThrow(refused);
    }
    expect(answerName(sender, '~'.repeat(255))).toBe(`usr_1 ${'~'.repeat(255)}`);
  });

  test('is apart by workspace, by key, and by sender: a user, each of their keys, another', async () => {
    const { work, made, keys } = openIdempotency();
    const senders = [{}, { keyId: 'key_1' }, { keyId: 'key_2' }, { userId: 'usr_2' }];
    const requests = [
      ...senders.map((more) => ({
        ...of(1, 'k', 'f'),
        name: answerName({ ...sender, ...more }, 'k'),
      })),
      of(2, 'k', 'f'),
      of(1, 'K', 'f'),
    ];
    const runAll = async (): Promise<boolean[]> => {
      const runs = await Promise.all(requests.map((request) => keys.run(request, work)));
      return runs.map(({ replayed }) => replayed);
    };
    // At once, then again: nobody waits for another, nobody gets another's.
    expect(await runAll()).toEqual(requests.map(() => false));
    expect(await runAll()).toEqual(requests.map(() => true));
    expect(made()).toBe(requests.length);
  });
});

test('the answer commits with its effect: a death right after the commit makes no second code', async () => {
  const fixture = await openCodes();
  const post = async (dies: (id: string) => void): Promise<boolean> => {
    const keys = new Idempotency(fixture.store, fixture.clock, cipher);
    const { replayed } = await keys.run(of(1, 'k', 'f'), async (ticket) => {
      const made = await fixture.codes.create(actor, { target: 'https://example.com/' }, (code) =>
        ticket.keep(answer(code.id)),
      );
      dies(made.id);
      return answer(made.id);
    });
    return replayed;
  };
  await expect(
    post(() => {
      throw new Error('killed');
    }),
  ).rejects.toThrow('killed');
  await fixture.restart();
  expect(await post(() => undefined)).toBe(true);
  expect((await fixture.codes.list(1, { filter: {}, limit: 10 })).total).toBe(1);
  expect(fixture.outbox.lastSequence).toBe(1);
});

test('requestFingerprint tells method, path and body apart', () => {
  const bytes = (text: string): Uint8Array => Buffer.from(text);
  const prints = [
    requestFingerprint('POST', '/v1/a', bytes('{}')),
    requestFingerprint('POST', '/v1/a', bytes('{ }')),
    requestFingerprint('POST', '/v1/b', bytes('{}')),
    requestFingerprint('PUT', '/v1/a', bytes('{}')),
  ];
  expect(new Set(prints).size).toBe(4);
});

test('a kept answer is stored encrypted, and another secret decrypts nothing', () => {
  const text = '{"key":"a secret"}';
  const encrypted = cipher.encrypt(text);
  expect(encrypted).not.toContain(Buffer.from(text).toString('base64url').slice(4, 12));
  expect(cipher.decrypt(encrypted)).toBe(text);
  const other = new SecretCipher(() => createSecretKey(Buffer.alloc(32, 8)), getRandomValues);
  expect(other.decrypt(encrypted)).toBeUndefined();
  const changed = `${encrypted.slice(0, -4)}AAAA`;
  expect([cipher.decrypt(changed), cipher.decrypt(text), cipher.decrypt('sealed.AA')]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
