/** What workspaces say on their pages, as redirect threads get it: at a start, with each change, past a damaged record. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PageFeed } from '../../src/engine/workspace-feeds.ts';
import type { PageChanges } from '../../src/http/pages.ts';
import { temporaryFolder } from '../store/temporary-management.ts';
import { soon } from '../support/soon.ts';
import { StoredBytes } from '../support/stored-bytes.ts';
import { openTestApp } from '../support/test-app.ts';

test('a start has them, a change arrives, and a damaged record keeps no other from its pages', async () => {
  const dataDir = temporaryFolder();
  const before = await openTestApp({ dataDir });
  const { workspaces } = before.workspaces;
  const second = await workspaces.create(before.first.user.id, 'Second');
  const say = (no: number, name: string | undefined): Promise<unknown> =>
    workspaces.change(no, {}, () => ({ brand: name === undefined ? {} : { name }, texts: {} }));
  for (const no of [1, second.no]) await say(no, `No ${no}`);
  const feed = new PageFeed(before.store);
  expect(feed.all().map(([no]) => no)).toEqual([1, second.no]);
  const changes: unknown[] = [];
  feed.start((pages: PageChanges) => {
    for (const [no, page] of pages) changes.push([no, page?.brand.name]);
  });
  await say(1, undefined);
  await expect.poll(() => changes, soon).toEqual([[1, undefined]]);
  await say(1, 'Again');
  await expect.poll(() => changes.at(-1), soon).toEqual([1, 'Again']);
  feed.close();
  await before.close();
  const bytes = new StoredBytes(join(dataDir, 'management.mdb'));
  const [first] = bytes.keys('workspace_pages');
  bytes.flip('workspace_pages', first!, 99);
  await bytes.close();
  const after = await openTestApp({ dataDir, plan: 'none' });
  expect(new PageFeed(after.store).all().map(([no]) => no)).toEqual([second.no]);
  await after.close();
});
