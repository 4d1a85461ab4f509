/** src/cluster/links/replica-store.ts: keys that a snapshot takes away, also one that was cut short. */
import { expect, test } from 'vitest';
import type { LinkFrame } from '../../../src/cluster/links/link-frames.ts';
import { ReplicaStore } from '../../../src/cluster/links/replica-store.ts';
import { type StoredLink, withLink } from '../../../src/store/management/link-blocks.ts';
import { temporaryManagement } from '../../store/temporary-management.ts';

const target = 'https://example.com/';
const block = (blockNo: number, key: string): LinkFrame => {
  const fields = { key, codeNo: blockNo * 16, workspaceNo: 1, target, expiresAtMs: 0 };
  const link: StoredLink = { ...fields, scanLimit: undefined, state: 'live', program: undefined };
  return { kind: 'block', blockNo, bytes: withLink(undefined, link) };
};
const reset: LinkFrame = { kind: 'reset', cluster: 'cl_1' };

test('keys that a snapshot lacks vanish, also if it was cut short and came again', async () => {
  const { store } = temporaryManagement();
  const replica = new ReplicaStore(store);
  const first = [reset, block(1, 'OLD1'), block(2, 'OLD2'), block(4, 'KEPT')];
  expect(await replica.apply([...first, { kind: 'at', number: 3 }])).toMatchObject({
    isWhole: true,
  });
  expect(replica.takeVanished()).toEqual([]);

  await replica.apply([reset, block(1, 'NEW1'), block(3, 'NEW3')]);
  expect([replica.hasLinks, replica.position]).toEqual([true, undefined]);
  replica.begin();
  // A key of the first snapshot has another code now.
  const second = [reset, block(1, 'NEW1'), block(3, 'OLD2'), block(4, 'KEPT')];
  await replica.apply([...second, { kind: 'at', number: 5 }]);
  expect(replica.takeVanished()).toEqual(['OLD1', 'NEW3']);
  expect(replica.position).toMatchObject({ cluster: 'cl_1', number: 5 });
});
