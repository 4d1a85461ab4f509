/** src/cluster/links/: what a core commits is in the link table of an edge, over a real server and real stores. */
import { readFileSync } from 'node:fs';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { expect, onTestFinished, test, vi } from 'vitest';
import { soon } from '../../support/soon.ts';
import { temporaryFolder } from '../../store/temporary-management.ts';
import { FeedServer, openReplica } from './feed-server.ts';

const target = 'https://example.com/';
const other = 'https://example.org/';
const fixture = (name: string): string =>
  new URL(`../../fixtures/receiver-tls/${name}`, import.meta.url).pathname;

test('an edge that was away gets what has changed since, and no more', async () => {
  const core = await FeedServer.open();
  const { app } = core;
  const folder = temporaryFolder();
  const code = await core.create('away');
  const before = await openReplica(folder, () => [core.url]);
  const applied: number[] = [];
  before.replica.applied.listen(() => applied.push(before.replica.number));
  await expect.poll(() => before.see('away'), soon).toBe(target);
  await expect.poll(() => applied, soon).toEqual([0, 1]);
  await before.close();
  const number = app.store.last('link');
  await core.change(code, { target: other });
  await core.create('new');

  const after = await openReplica(folder, () => [core.url]);
  expect(after.replica.hasLinks).toBe(true);
  await expect.poll(() => after.see('new'), soon).toBe(target);
  expect(after.see('away')).toBe(other);
  expect(core.asked.slice(0, 2)).toEqual(['all', String(number)]);
  expect(core.asked.slice(2)).not.toContain('all');
  vi.spyOn(after.writer, 'put').mockImplementationOnce(() => expect.fail());
  await core.change(code, { target });
  await expect.poll(() => after.see('away'), soon).toBe(target);
});

test.each([
  ['that were lost', ['found', 'shared']],
  ['that were given to other changes', ['found', 'shared', 'more-1', 'more-2', 'more-3']],
])('numbers %s: all links are brought, and what is no more ends', async (_, slugs) => {
  const older = await FeedServer.open();
  const shared = await older.create('shared');
  for (const slug of ['lost-1', 'lost-2']) await older.create(slug);
  const folder = temporaryFolder();
  const before = await openReplica(folder, () => [older.url]);
  await older.change(shared, { target: `${target}changed` });
  await expect.poll(() => before.see('shared'), soon).toBe(`${target}changed`);
  await before.close();
  // As it was before, and gone on since then.
  const newer = await FeedServer.open();
  for (const slug of slugs) await newer.create(slug, { target: other });
  const edge = await openReplica(folder, () => [newer.url]);
  const seen = (of: readonly string[]) => (): string[] => of.map((slug) => edge.see(slug));
  await expect.poll(seen(slugs), soon).toEqual(slugs.map(() => other));
  await expect.poll(seen(['lost-1', 'lost-2']), soon).toEqual(['deleted', 'deleted']);
  expect(newer.asked[0]).toBe('4');
  await expect.poll(() => edge.replica.number, soon).toBe(slugs.length);
});

test('what workspaces say on their pages comes too, each change once; another cluster has its own', async () => {
  const older = await FeedServer.open();
  const say = async ({ app }: FeedServer, name: string): Promise<void> => {
    const { workspaces } = app.workspaces;
    await workspaces.change(1, {}, () => ({ brand: { name }, texts: {} }));
  };
  await say(older, 'First');
  let core = older;
  const edge = await openReplica(temporaryFolder(), () => [core.url]);
  const { pages, last, environment } = edge.store;
  const said = (): string | undefined => {
    environment.refresh();
    return pages.workspaces.get(1)?.brand.name;
  };
  await expect.poll(said, soon).toBe('First');
  await say(older, 'Second');
  await expect.poll(said, soon).toBe('Second');
  expect(last('pages')).toBe(2);

  const newer = await FeedServer.open();
  newer.cluster = 'cl_2';
  core = newer;
  older.close();
  await expect.poll(said, soon).toBeUndefined();
  await say(newer, 'Other');
  await expect.poll(said, soon).toBe('Other');
  // One for each, so that what follows them reads no workspace twice.
  expect([...pages.changes.keys({})]).toEqual([[last('pages'), 1]]);
});

test('an edge that has missed more changes than are kept gets all links, and keeps those it has meanwhile', async () => {
  const core = await FeedServer.open();
  const { app } = core;
  const folder = temporaryFolder();
  const code = await core.create('missed');
  const before = await openReplica(folder, () => [core.url]);
  await expect.poll(() => before.see('missed'), soon).toBe(target);
  await before.close();
  await core.change(code, { target: other });
  await core.create('unnumbered');
  const { environment, bulk } = app.store;
  await environment.transaction(() => bulk.linkChanges.remove(app.store.last('link') - 1));
  const after = await openReplica(folder, () => [core.url]);
  expect(after.see('missed')).toBe(target);
  await expect.poll(() => after.see('unnumbered'), soon).toBe(target);
  expect(after.see('missed')).toBe(other);
  await expect.poll(() => after.replica.number, soon).toBe(app.store.last('link'));
  expect(core.asked.slice(0, 2)).toEqual(['all', '1']);
});

test('links are followed by TLS, from a core whose certificate is trusted', async () => {
  const files = { tlsCertFile: fixture('trusted.pem'), tlsKeyFile: fixture('key.pem') };
  const core = await FeedServer.open(undefined, files);
  await core.create('secret');
  const url = core.url.replace('http://127.0.0.1', 'https://localhost');
  const edge = await openReplica(temporaryFolder(), () => [url]);
  await expect.poll(() => edge.replica.fault, soon).toMatch(/certificate/);
  expect(core.asked).toEqual([]);
  const known = getCACertificates();
  setDefaultCACertificates([...known, readFileSync(fixture('authority.pem'), 'utf8')]);
  onTestFinished(() => setDefaultCACertificates(known));
  await expect.poll(() => edge.see('secret'), soon).toBe(target);
});

test('an edge leaves a core that does not follow the log for one that does, leading or not', async () => {
  const cutOff = await FeedServer.open();
  cutOff.isCurrent = false;
  const standby = await FeedServer.open();
  standby.isLeading = false;
  const edge = await openReplica(temporaryFolder(), () => [cutOff.url, standby.url]);
  await expect.poll(() => standby.asked.length, soon).toBeGreaterThan(0);
  await expect.poll(() => edge.replica.isFresh, soon).toBe(true);
});

test('a core that is behind does not take an edge back, and a wrong token gets nothing', async () => {
  const core = await FeedServer.open();
  const folder = temporaryFolder();
  await core.create('ahead');
  const edge = await openReplica(folder, () => [core.url]);
  await expect.poll(() => edge.see('ahead'), soon).toBe(target);
  await edge.close();
  const behind = await FeedServer.open();
  behind.isLeading = false;
  const headers = { authorization: 'Bearer edge-1.token' };
  const asked = await fetch(`${behind.url}/cluster/links?cluster=cl_1&number=1`, { headers });
  expect(asked.status).toBe(503);
  const wrong = await fetch(`${core.url}/cluster/links`, {
    headers: { authorization: 'Bearer no' },
  });
  expect(wrong.status).toBe(401);
  expect((await fetch(`${core.url}/cluster/other`)).status).toBe(404);
});

test('a limit holds over all machines, as far as scans are counted', async () => {
  const core = await FeedServer.open();
  const { totals } = core;
  const folder = temporaryFolder();
  const code = await core.create('limited', { scanLimit: 10 });
  totals.set(code.no, 4);
  const edge = await openReplica(folder, () => [core.url]);
  await expect.poll(() => edge.see('limited'), soon).toBe(target);
  expect(edge.writer.scansLeft('LIMITED')).toBe(6);
  edge.scan('limited');
  expect(edge.writer.scansLeft('LIMITED')).toBe(5);
  // Its own scan and five of another machine.
  totals.set(code.no, 10);
  await expect.poll(() => edge.see('limited'), soon).toBe('over its limit');
  await edge.close();
  const again = await openReplica(folder, () => []);
  expect(again.see('limited')).toBe('over its limit');
  await again.close();
  const raised = await openReplica(folder, () => [core.url]);
  await core.change(code, { scanLimit: 12 });
  await expect.poll(() => raised.writer.scansLeft('LIMITED'), soon).toBe(2);
});

test('an edge gets many blocks whole with what changes meanwhile, also if it is cut off between them', async () => {
  const core = await FeedServer.open();
  const made = [];
  for (let batch = 0; batch < 40; batch++) {
    const drafts = Array.from({ length: 50 }, (_, at) => ({
      target: `${target}${'x'.repeat(1_500)}/${batch}/${at}`,
      slug: `slug-${batch}-${at}`,
    }));
    made.push(...(await Promise.all(drafts.map((draft) => core.create(draft.slug, draft)))));
  }
  const edge = await openReplica(temporaryFolder(), () => [core.url]);
  const first = made[0]!;
  await expect.poll(() => core.asked, soon).toContain('more');
  core.cut();
  await core.change(first, { target: other });
  await core.listen();
  await expect.poll(() => edge.see('slug-0-0'), soon).toBe(other);
  for (const { shortCode = '' } of made.slice(1)) {
    expect(edge.see(shortCode)).toMatch(/^https:\/\/example\.com\/x+\//);
  }
  expect(core.asked.filter((one) => one === 'all')).toEqual(['all']);
});
