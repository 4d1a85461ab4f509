/** src/cluster/links/replica-store.ts: keys that are gone when all links come, also if they were cut short. */
import { expect, test } from 'vitest';
import { blocksEnd, type LinkPiece } from '../../../src/cluster/links/link-piece.ts';
import { ReplicaStore } from '../../../src/cluster/links/replica-store.ts';
import { type StoredLink, withLink } from '../../../src/store/management/link-blocks.ts';
import { temporaryManagement } from '../../store/temporary-management.ts';

const target = 'https://example.com/';

function part(number: number, keys: Record<number, string>, next = blocksEnd): LinkPiece {
  const blocks = Object.entries(keys).map(([no, key]) => {
    const fields = { key, codeNo: Number(no) * 16, workspaceNo: 1, target, expiresAtMs: 0 };
    const link: StoredLink = { ...fields, scanLimit: undefined, state: 'live', program: undefined };
    return [Number(no), withLink(undefined, link)] as const;
  });
  const others = { codes: [], pagesNumber: 0, pages: [], totalsNext: 0, totals: [] };
  const head = { cluster: 'cl_1', last: number, isCurrent: true, number };
  return { ...head, ...others, blocks, part: [0, next] };
}

test('keys that all links lack vanish, also if they were cut short and came again', async () => {
  const { store } = temporaryManagement();
  const replica = new ReplicaStore(store);
  await replica.apply(part(3, { 1: 'OLD1', 2: 'OLD2', 4: 'KEPT' }));
  expect([...replica.takeVanished()]).toEqual([]);

  await replica.apply(part(5, { 1: 'NEW1', 3: 'NEW3' }, 4));
  expect([replica.hasLinks, replica.position]).toEqual([true, undefined]);
  // A key of the first ones has another code now.
  await replica.apply(part(5, { 1: 'NEW1', 3: 'OLD2', 4: 'KEPT' }));
  expect([...replica.takeVanished()]).toEqual(['OLD1', 'NEW3']);
  expect(replica.position).toMatchObject({ cluster: 'cl_1', number: 5 });
  await expect(replica.apply({ ...part(9, {}), part: undefined, codes: [1] })).rejects.toThrow(
    'Cannot read links: change 9 follows 5',
  );
});
