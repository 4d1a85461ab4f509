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
  const { codes, app } = core;
  const folder = temporaryFolder();
  const code = await codes.create(app.actor, { target, slug: 'away' });
  const before = await openReplica(folder, () => [core.url]);
  const applied: number[] = [];
  before.replica.applied.listen(() => applied.push(before.replica.number));
  await expect.poll(() => before.see('away'), soon).toBe(target);
  await expect.poll(() => applied, soon).toEqual([0, 1]);
  await before.close();
  const number = app.store.last('link');
  await codes.change(app.actor, code.id, { target: other });
  await codes.create(app.actor, { target, slug: 'new' });

  const after = await openReplica(folder, () => [core.url]);
  expect(after.replica.hasLinks).toBe(true);
  await expect.poll(() => after.see('new'), soon).toBe(target);
  expect(after.see('away')).toBe(other);
  expect(core.asked.slice(0, 2)).toEqual(['all', String(number)]);
  expect(core.asked.slice(2)).not.toContain('all');
  vi.spyOn(after.writer, 'put').mockImplementationOnce(() => expect.fail());
  await codes.change(app.actor, code.id, { target });
  await expect.poll(() => after.see('away'), soon).toBe(target);
});

test('without a core an edge has what it had; a connection that is cut is made again', async () => {
  const core = await FeedServer.open();
  const { codes, app } = core;
  const folder = temporaryFolder();
  const code = await codes.create(app.actor, { target, slug: 'kept' });
  const first = await openReplica(folder, () => [core.url]);
  await expect.poll(() => first.see('kept'), soon).toBe(target);
  core.cut();
  await expect.poll(() => first.replica.fault, soon).toBeDefined();
  await codes.change(app.actor, code.id, { target: other });
  expect(first.see('kept')).toBe(target);
  await first.close();

  const edge = await openReplica(folder, () => ['http://127.0.0.1:9', core.url]);
  expect(edge.see('kept')).toBe(target);
  expect(edge.replica.isFresh).toBe(false);
  await core.listen();
  await expect.poll(() => edge.see('kept'), soon).toBe(other);
  await expect.poll(() => edge.replica.fault, soon).toBeUndefined();
});

test('numbers that were lost, or another cluster: all links are brought, and what is no more ends', async () => {
  const older = await FeedServer.open();
  const folder = temporaryFolder();
  for (const slug of ['shared', 'lost-1', 'lost-2']) {
    await older.codes.create(older.app.actor, { target, slug });
  }
  const newer = await FeedServer.open();
  // Under the number that is a lost one's there.
  await newer.codes.create(newer.app.actor, { target: other, slug: 'found' });
  await newer.codes.create(newer.app.actor, { target: other, slug: 'shared' });
  let core = older;
  const edge = await openReplica(folder, () => [core.url]);
  await expect.poll(() => edge.see('lost-2'), soon).toBe(target);
  core = newer;
  older.close();
  await expect.poll(() => edge.see('found'), soon).toBe(other);
  expect(edge.see('shared')).toBe(other);
  await expect
    .poll(() => [edge.see('lost-1'), edge.see('lost-2')], soon)
    .toEqual(['deleted', 'deleted']);
  expect(newer.asked[0]).toBe('3');
  await expect.poll(() => edge.replica.number, soon).toBe(newer.app.store.last('link'));
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
  const { codes, app } = core;
  const folder = temporaryFolder();
  const code = await codes.create(app.actor, { target, slug: 'missed' });
  const before = await openReplica(folder, () => [core.url]);
  await expect.poll(() => before.see('missed'), soon).toBe(target);
  await before.close();
  await codes.change(app.actor, code.id, { target: other });
  await codes.create(app.actor, { target, slug: 'unnumbered' });
  const { environment, bulk } = app.store;
  await environment.transaction(() => bulk.linkChanges.remove(app.store.last('link') - 1));
  const after = await openReplica(folder, () => [core.url]);
  expect(after.see('missed')).toBe(target);
  await expect.poll(() => after.see('unnumbered'), soon).toBe(target);
  expect(after.see('missed')).toBe(other);
  await expect.poll(() => after.replica.number, soon).toBe(app.store.last('link'));
  expect(core.asked.slice(0, 2)).toEqual(['all', '1']);
});

test('numbers that were given to other changes after data was put back: all links are brought', async () => {
  const older = await FeedServer.open();
  const folder = temporaryFolder();
  const before = await openReplica(folder, () => [older.url]);
  await expect.poll(() => before.replica.isFresh, soon).toBe(true);
  const kept = await older.codes.create(older.app.actor, { target, slug: 'kept' });
  await older.codes.create(older.app.actor, { target, slug: 'lost' });
  await older.codes.change(older.app.actor, kept.id, { target: other });
  await expect.poll(() => before.see('kept'), soon).toBe(other);
  await before.close();
  // The same cluster, as it was before the last two, and gone on: its numbers reach beyond those of the edge.
  const newer = await FeedServer.open();
  await newer.codes.create(newer.app.actor, { target, slug: 'kept' });
  for (const slug of ['found-1', 'found-2', 'found-3']) {
    await newer.codes.create(newer.app.actor, { target, slug });
  }
  const after = await openReplica(folder, () => [newer.url]);
  await expect.poll(() => after.see('found-3'), soon).toBe(target);
  expect([after.see('kept'), after.see('lost')]).toEqual([target, 'deleted']);
  expect(newer.asked[0]).toBe('3');
});

test('links are followed by TLS, from a core whose certificate is trusted', async () => {
  const files = { tlsCertFile: fixture('trusted.pem'), tlsKeyFile: fixture('key.pem') };
  const core = await FeedServer.open(undefined, files);
  await core.codes.create(core.app.actor, { target, slug: 'secret' });
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
  await core.codes.create(core.app.actor, { target, slug: 'ahead' });
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
  const { codes, app, totals } = core;
  const folder = temporaryFolder();
  const code = await codes.create(app.actor, { target, slug: 'limited', scanLimit: 10 });
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
  await codes.change(app.actor, code.id, { scanLimit: 12 });
  await expect.poll(() => raised.writer.scansLeft('LIMITED'), soon).toBe(2);
});

test('an edge gets many blocks whole with what changes meanwhile, also if it is cut off between them', async () => {
  const core = await FeedServer.open();
  const { codes, app } = core;
  const made = [];
  for (let batch = 0; batch < 40; batch++) {
    const drafts = Array.from({ length: 50 }, (_, at) => ({
      target: `${target}${'x'.repeat(1_500)}/${batch}/${at}`,
      slug: `slug-${batch}-${at}`,
    }));
    made.push(...(await Promise.all(drafts.map((draft) => codes.create(app.actor, draft)))));
  }
  const edge = await openReplica(temporaryFolder(), () => [core.url]);
  const first = made[0]!;
  await expect.poll(() => core.asked, soon).toContain('more');
  core.cut();
  await codes.change(app.actor, first.id, { target: other });
  await core.listen();
  await expect.poll(() => edge.see('slug-0-0'), soon).toBe(other);
  for (const { shortCode = '' } of made.slice(1)) {
    expect(edge.see(shortCode)).toMatch(/^https:\/\/example\.com\/x+\//);
  }
  expect(core.asked.filter((one) => one === 'all')).toEqual(['all']);
});
