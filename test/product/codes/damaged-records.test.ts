/**
 * One flipped bit in any record of the management store that codes stand on: every short link leads where it should or is
 * refused, every record that is shown is the one that was written, and nothing but what is damaged is refused.
 * `QZ_FLIPS` = records of each table, default 1.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { QrCodeRecord } from '../../../src/model/code.ts';
import { isDamage, readOr } from '../../../src/model/failure.ts';
import { openTestApp } from '../../support/test-app.ts';
import { StoredBytes } from '../../support/stored-bytes.ts';
import { actor, openTable } from './codes-fixture.ts';

const flips = Number(process.env['QZ_FLIPS'] ?? 1);
const tables = [
  'campaign_codes',
  'campaigns',
  'code_edits',
  'code_ids',
  'codes',
  'events',
  'links',
  'list_versions',
  'meta',
  'short_codes',
  'tag_spellings',
];
const codeCount = 36;
const deletedNo = 5;
const limitedNo = 6;
const staticNo = 7;

let random = 7;
/** Park and Miller's. */
const draw = (below: number): number => (random = (random * 48_271) % 2_147_483_647) % below;

/** What is written, and what each key leads to. */
let folder: string;
let written: readonly QrCodeRecord[];

const targetOf = (no: number): string => `https://example.com/${'path/'.repeat(no % 4)}${no}`;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'quietzone-codes-'));
  const app = await openTestApp({ dataDir: folder, plan: 'enterprise' });
  const codes: QrCodeRecord[] = [];
  for (let no = 1; no <= codeCount; no++) {
    codes.push(
      await app.codes.create(actor, {
        target: targetOf(no),
        name: `Code ${no}`,
        tags: [`Tag ${no % 3}`],
        ...(no === staticNo ? { dynamic: false } : {}),
        ...(no === limitedNo ? { scanLimit: 9 } : {}),
      }),
    );
  }
  codes[deletedNo - 1] = await app.codes.delete(actor, codes[deletedNo - 1]!.id);
  codes[9] = await app.codes.change(actor, codes[9]!.id, { target: 'https://example.org/changed' });
  written = codes;
  await app.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type Opened = Awaited<ReturnType<typeof open>>;

async function open(dataDir: string) {
  const { links, see } = openTable();
  const app = await openTestApp({ dataDir, plan: 'none', links });
  app.codes.links.load();
  app.codes.links.loadLimited();
  return { app, see };
}

/** A copy of the folder with these records damaged: each by one bit. */
async function damagedCopy(records: ReadonlyArray<readonly [table: string, key: Buffer]>) {
  const dataDir = mkdtempSync(join(tmpdir(), 'quietzone-damaged-'));
  cpSync(folder, dataDir, { recursive: true });
  const stored = new StoredBytes(join(dataDir, 'management.mdb'));
  for (const [table, key] of records) stored.flip(table, key, draw(2 ** 30));
  await stored.close();
  return dataDir;
}

/** Records to damage: all of a table, or some. */
async function recordsOf(table: string, max: number): Promise<Buffer[]> {
  const stored = new StoredBytes(join(folder, 'management.mdb'));
  const keys = stored.keys(table).filter((key) => !key.toString('latin1').startsWith('schema'));
  await stored.close();
  if (keys.length <= max) return keys;
  return Array.from({ length: max }, () => keys[draw(keys.length)]!);
}

/** Asks for everything; what is neither right nor refused is named. @returns whose records and links were refused */
async function refusedIn({ app, see }: Opened, codes: readonly QrCodeRecord[]) {
  const wrong: string[] = [];
  const refused = { links: 0, records: 0 };
  for (const code of codes) {
    if (code.shortCode !== undefined) {
      const right = code.deletedAtMs === undefined ? code.target : 'gone';
      const found = see(code.shortCode);
      if (found === 'damaged') refused.links++;
      else if (found !== right) wrong.push(`link of ${code.no}: ${found}, expected ${right}`);
    }
    const record = readOr(() => app.codes.findAnywhere(code.id), 'damaged');
    if (record === 'damaged') refused.records++;
    else if (!isDeepStrictEqual(record, code)) wrong.push(`record ${code.no}`);
  }
  const live = codes.filter(({ deletedAtMs }) => deletedAtMs === undefined);
  for (const search of [undefined, 'code']) {
    const page = await app.codes.list(actor.workspaceNo, { filter: { search }, limit: 100 });
    if (page.data.length + page.unreadable !== live.length)
      wrong.push(`list of ${page.data.length}`);
    const total = search === undefined ? live.length : live.length - page.unreadable;
    if (page.total !== total) wrong.push(`total of ${page.total}`);
    for (const code of page.data) {
      const right = live.find(({ id }) => id === code.id);
      if (!isDeepStrictEqual(code, right)) wrong.push(`listed record ${code.no}`);
    }
  }
  expect(wrong).toEqual([]);
  return refused;
}

/** Changes every code. @returns the codes as they are then */
async function changeAll({ app }: Opened, codes: readonly QrCodeRecord[]): Promise<QrCodeRecord[]> {
  const after: QrCodeRecord[] = [];
  for (const code of codes) {
    if (code.deletedAtMs !== undefined || !code.dynamic) {
      after.push(code);
      continue;
    }
    const target = `${code.target}?again`;
    const changed = await app.codes.change(actor, code.id, { target }).catch(ifDamaged(code));
    after.push(changed);
  }
  return after;
}

const ifDamaged =
  <T>(instead: T) =>
  (error: unknown): T => {
    if (isDamage(error)) return instead;
    throw error;
  };

it('one flipped bit in any record leaves every link right or refused, and every other code at work', async () => {
  for (const table of tables) {
    for (const key of await recordsOf(table, flips)) {
      const dataDir = await damagedCopy([[table, key]]);
      const before = await open(dataDir);
      const refused = await refusedIn(before, written);
      // One record has one code; a link is refused only where its record is damaged too.
      expect([table, refused.records <= 1, refused.links]).toEqual([table, true, 0]);
      const codes = await changeAll(before, written);
      expect((await refusedIn(before, codes)).links).toBe(0);
      const created = await before.app.codes
        .create(actor, { target: 'https://example.net/new', name: 'Code new' })
        .catch(ifDamaged(undefined));
      await before.app.close();
      const after = await open(dataDir);
      const all = created === undefined ? codes : [...codes, created];
      expect((await refusedIn(after, all)).links).toBe(0);
      await after.app.close();
      rmSync(dataDir, { recursive: true, force: true });
    }
  }
});

it('one flipped bit in a block of links and in a code of it refuses that link, and no other', async () => {
  const [block] = await recordsOf('links', Infinity);
  const records = await recordsOf('codes', Infinity);
  const dataDir = await damagedCopy([
    ['links', block!],
    ['codes', records[2]!],
  ]);
  for (const start of ['first', 'second']) {
    const opened = await open(dataDir);
    expect([start, await refusedIn(opened, written)]).toEqual([start, { links: 1, records: 1 }]);
    expect(opened.see(written[2]!.shortCode!)).toBe('damaged');
    expect(opened.app.codes.links.damagedCount).toBe(1);
    // A change beside it goes through, and leaves it as it is.
    const target = `https://example.org/${start}`;
    await opened.app.codes.change(actor, written[3]!.id, { target });
    expect(opened.see(written[3]!.shortCode!)).toBe(target);
    expect(opened.see(written[2]!.shortCode!)).toBe('damaged');
    await opened.app.codes.change(actor, written[3]!.id, { target: written[3]!.target });
    await opened.app.close();
  }
  rmSync(dataDir, { recursive: true, force: true });
});
