/** An environment that another process writes from here on, or that closes while a commit is under way. */
import { expect, test } from 'vitest';
import { Failure } from '../../src/model/failure.ts';
import { temporaryManagement } from './temporary-management.ts';

test('a held environment ends what is under way, refuses what comes, and goes on when it is released', async () => {
  const { environment, meta } = temporaryManagement().store;
  const begun = [1, 2, 3].map((value) => environment.transaction(() => meta.put('held', value)));
  const held = environment.hold();
  await expect(environment.transaction(() => meta.put('held', 4))).rejects.toMatchObject({
    code: 'overloaded',
    retryAfterSeconds: 1,
  });
  expect(() => environment.transactionSync(() => meta.put('held', 5))).toThrow(Failure);
  await held;
  expect(meta.get('held')).toBe(3);
  await Promise.all(begun);
  environment.release();
  await environment.transaction(() => meta.put('held', 6));
  // The writes that were refused are not under way.
  await environment.hold();
  expect(meta.get('held')).toBe(6);
});

test.each(['transaction', 'applyWrites'] as const)(
  'what %s commits while it closes is stored, and nobody is told to read it',
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
    const { meta: again } = await reopened;
    expect([seen, again.get('last')]).toEqual([[1], 2]);
  },
);
