/** What `quietzone verify` finds: nothing in sound data, and each damage with its file and what helps. */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { type DataFolder, openDataFolder } from '../../../src/app/folder/data-folder.ts';
import {
  type Verification,
  verifyFolder,
  verifyWhole,
} from '../../../src/app/folder/verify/verify.ts';
import {
  journalFolder,
  listJournals,
  listSegments,
  segmentFile,
} from '../../../src/engine/journal/segments.ts';
import { resultFiles } from '../../../src/store/delivery/result-journal.ts';
import { linksIn, withLink } from '../../../src/engine/links/link-blocks.ts';
import { type Management, openManagement } from '../../../src/store/management/management.ts';
import { openScanStore } from '../../../src/store/scans/scans.ts';
import { sharedFolder } from '../../store/temporary-management.ts';
import { runCommand } from '../../support/process.ts';
import { StoredBytes } from '../../support/stored-bytes.ts';
import { TestService } from '../../support/test-service.ts';

const codes = 20;
/** Has a program. */
const ruled = 3;
const scans = 3;
const parent = sharedFolder();
let folder: DataFolder;

beforeAll(async () => {
  const service = await TestService.start({ dataDir: join(parent, 'sound') });
  for (let at = 0; at < codes; at++) {
    const target = `https://example.com/target-${at}`;
    await service.makeCode({ target, passQuery: at === ruled - 1, slug: `verified-${at}` });
  }
  await service.scan(`verified-${codes - 1}`, scans);
  await service.close();
});

it('a folder that an import has made, and no service has opened, is sound', async () => {
  const dataDir = join(parent, 'imported');
  const links = join(parent, 'links.ndjson');
  writeFileSync(links, '{"target":"https://example.com/","slug":"printed"}\n');
  const environment = { QZ_DATA_DIR: dataDir };
  expect(await runCommand(['import', links], environment)).toMatchObject({ code: 0 });
  const { code, stdout } = await runCommand(['verify'], environment);
  const notes = ['scans.mdb', 'delivery.mdb'].map(
    (name) => `note ${name} is new: a service has not used it yet`,
  );
  expect(stdout.split('\n')).toEqual(expect.arrayContaining(notes));
  expect([code, stdout]).toEqual([0, expect.stringContaining('All data read is intact')]);
});

beforeEach(() => {
  const path = join(parent, 'data');
  rmSync(path, { recursive: true, force: true });
  cpSync(join(parent, 'sound'), path, { recursive: true });
  folder = openDataFolder(path);
});

const findingsOf = ({ findings }: Verification): string[] =>
  findings.map(({ file, text }) => `${file}: ${text}`);

async function change(work: (management: Management) => void): Promise<void> {
  const management = openManagement(folder.managementFile);
  management.environment.transactionSync(() => work(management));
  await management.close();
}

function replaceBytes(file: string, from: string, to: string): void {
  writeFileSync(file, readFileSync(file, 'latin1').replaceAll(from, to), 'latin1');
}

it('finds nothing in sound data, changes none of it, and reads as much as it said', async () => {
  const before = readFileSync(folder.managementFile);
  let [said, done] = [0, 0];
  const { files, findings, notes } = await verifyFolder(folder, {
    begin: (bytes) => void (said = bytes),
    add: (bytes) => void (done += bytes),
  });
  expect([findings, notes]).toEqual([[], []]);
  expect(files.map(({ name }) => name)).toEqual(['management.mdb', 'scans.mdb', 'delivery.mdb']);
  expect(files[0]?.records).toBeGreaterThan(codes);
  expect(readFileSync(folder.managementFile).equals(before)).toBe(true);
  expect(done).toBeGreaterThan(0);
  expect(done).toBeLessThanOrEqual(said);
});

it('a damaged page ends the reading of its store, not of the others', async () => {
  const bytes = readFileSync(folder.scansFile);
  writeFileSync(folder.scansFile, bytes.fill(0, 8_192));
  const found = await verifyFolder(folder);
  expect(findingsOf(found)[0]).toMatch(/^scans\.mdb: page \d+ \(.+\) is damaged$/);
  expect(found.files.map(({ name }) => name)).toEqual(['management.mdb', 'delivery.mdb']);
  expect(found.findings[0]?.remedy).toContain('quietzone restore');
});

it('damaged records are named: the code and the block of its link', async () => {
  replaceBytes(folder.managementFile, 'example.com/target-7', 'examplX.com/target-7');
  const found = findingsOf(await verifyFolder(folder));
  expect(found).toContain('management.mdb: the record 8 of the table codes is damaged');
  expect(found).toContain('management.mdb: the record 0 of the table links is damaged');
});

it.each([
  ['management.mdb', 'next:code'],
  ['scans.mdb', 'sequence'],
])('the last number given out is named where it is damaged, in %s', async (name, key) => {
  const bytes = new StoredBytes(join(folder.path, name));
  const [at] = bytes.keys('meta').filter((found) => found.toString() === key);
  if (at === undefined) throw new Error(`Cannot find ${key}`);
  bytes.flip('meta', at, 42);
  await bytes.close();
  const found = findingsOf(await verifyFolder(folder));
  expect(found).toEqual([expect.stringContaining(`${name}: the record `)]);
  expect(found[0]).toMatch(/of the table meta is damaged$/);
});

it('damaged frames of a journal are counted', async () => {
  const journal = journalFolder(folder.journalRoot, 0);
  const start = listSegments(journal).at(-1) ?? 0;
  writeFileSync(segmentFile(journal, start), 'no frame');
  // The newest segment ends with its last frame: another one comes after it.
  writeFileSync(segmentFile(journal, start + 8), '');
  const found = await verifyFolder(folder);
  expect(findingsOf(found)).toEqual([
    'journal/0: 0 scans in damaged frames, and 8 bytes outside frames',
  ]);
});

it('a journal that has lost its newest segment, or its folder, is named', async () => {
  const { journalRoot } = folder;
  const name = listJournals(journalRoot).find(
    (journal) => (listSegments(journalFolder(journalRoot, journal)).at(-1) ?? 0) > 0,
  )!;
  expect(findingsOf(await verifyWhole(folder))).toEqual([]);
  rmSync(journalFolder(journalRoot, name), { recursive: true });
  expect(findingsOf(await verifyWhole(folder))).toEqual([
    expect.stringMatching(new RegExp(`^journal/${name}: its newest segment is missing: `)),
  ]);
});

it('a damaged line of results is counted, one that was not finished is not', async () => {
  const [first] = resultFiles(folder.deliveryFile);
  writeFileSync(first, '00000000 []');
  expect(findingsOf(await verifyFolder(folder))).toEqual([]);
  writeFileSync(first, '00000000 []\n');
  expect(findingsOf(await verifyFolder(folder))).toEqual(['delivery.results.0: 1 damaged lines']);
});
it('a link that leads elsewhere than its code, one without a code, and one that is missing are named', async () => {
  await change(({ links, codes: records }) => {
    const block = links.get(0);
    const [first, , third] = block === undefined ? [] : linksIn(0, block);
    if (block === undefined || first === undefined || third?.codeNo !== ruled) {
      throw new Error('Cannot find the links');
    }
    const misled = withLink(block, { ...first, target: 'https://evil.example/' });
    links.put(0, withLink(misled, { ...third, program: undefined }));
    records.remove(2);
    links.remove(1);
  });
  const found = findingsOf(await verifyFolder(folder));
  for (const text of [
    /^management\.mdb: the link of code qr_\w+ differs from the code in its target$/,
    /differs from the code in its rules$/,
    /^management\.mdb: link 2 has no code$/,
    /the link of code qr_\w+ is missing$/,
  ])
    expect(found).toContainEqual(expect.stringMatching(text));
  expect(found).toHaveLength(3 + codes - 15);
});

it('a total is named that its months and days do not add up to', async () => {
  const store = openScanStore(folder.scansFile);
  store.environment.transactionSync(() => {
    const summary = Buffer.from(store.summaries.get(codes) ?? []);
    // Behind the format: the total, a number of one byte.
    summary[1] = 9;
    store.summaries.put(codes, summary);
  });
  await store.environment.close();
  expect(findingsOf(await verifyFolder(folder))).toEqual([
    `scans.mdb: the total of code number ${codes} is 9, its months and days have ${scans}`,
  ]);
});
it('is bounded, however much is damaged', async () => {
  await change(({ workspaceIds }) => {
    for (let at = 100; at < 200; at++) workspaceIds.put(`workspace-${at}`, at);
  });
  replaceBytes(folder.managementFile, 'workspace-1', 'workspace-2');
  const found = findingsOf(await verifyFolder(folder));
  expect(found.length).toBeLessThan(60);
  expect(found.at(-1)).toMatch(/\d+ more damaged /);
});
