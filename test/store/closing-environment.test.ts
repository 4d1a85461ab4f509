/** An environment that closes while a commit is under way. */
import { expect, test } from 'vitest';
import { temporaryManagement } from './temporary-management.ts';

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
