/** What a workspace says on its pages reaches redirect threads that run. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PageFeed } from '../../src/engine/workspace-feeds.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { type RedirectHarness, startRedirects } from '../http/redirect-harness.ts';
import { linkOf } from '../links/table.ts';
import { temporaryFolder } from '../store/temporary-management.ts';
import { soon } from '../support/soon.ts';
import { StoredBytes } from '../support/stored-bytes.ts';
import { openTestApp, type TestApp } from '../support/test-app.ts';

let app: TestApp;
let feed: PageFeed;
let harness: RedirectHarness;

beforeAll(async () => {
  app = await openTestApp();
  feed = new PageFeed(app.store, createLog('silent', { write: () => undefined }));
  await say('First');
  harness = await startRedirects({ threads: 2, pages: () => feed.all() });
  harness.links.put(linkOf('EXPIRED1', { codeNo: 1, workspaceNo: 1, expiresAtMs: 1_000 }));
  feed.start((changes) => harness.redirects.updatePages(changes));
});
afterAll(async () => {
  await feed.close();
  await harness.close();
  await app.close();
});

const say = async (name: string | undefined): Promise<void> => {
  const brand = name === undefined ? {} : { name };
  await app.workspaces.workspaces.change(1, {}, () => ({ brand, texts: {} }));
};

/** Of new connections, which the kernel deals out to both threads. */
async function names(): Promise<string[]> {
  const found = Array.from({ length: 12 }, async () => {
    const url = `http://127.0.0.1:${harness.port}/EXPIRED1`;
    const answer = await fetch(url, { headers: { connection: 'close' } });
    return /<b dir="auto">(.*?)<\/b>/.exec(await answer.text())?.[1] ?? '';
  });
  return [...new Set(await Promise.all(found))];
}

test('a start has them, and a change arrives', async () => {
  expect(await names()).toEqual(['First']);
  await say('Second');
  await expect.poll(names, soon).toEqual(['Second']);
  await say(undefined);
  await expect.poll(names, soon).toEqual(['']);
  expect(feed.all()).toEqual([]);
});

test('a damaged record keeps no thread from its start, and no other workspace from its pages', async () => {
  const dataDir = temporaryFolder();
  const before = await openTestApp({ dataDir });
  const { workspaces } = before.workspaces;
  const second = await workspaces.create(before.first.user.id, 'Second');
  for (const no of [1, second.no]) {
    await workspaces.change(no, {}, () => ({ brand: { name: `No ${no}` }, texts: {} }));
  }
  await before.close();
  const bytes = new StoredBytes(join(dataDir, 'management.mdb'));
  const [first] = bytes.keys('workspace_pages');
  if (first === undefined) throw new Error('no record of pages');
  bytes.flip('workspace_pages', first, 99);
  await bytes.close();
  const after = await openTestApp({ dataDir, plan: 'none' });
  const log = createLog('silent', { write: () => undefined });
  expect(new PageFeed(after.store, log).all().map(([no]) => no)).toEqual([second.no]);
  await after.close();
});
