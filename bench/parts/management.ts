/**
 * The management side, warm: what a request pays before its handler runs (token and quota), what a
 * list costs in a workspace of 100,000 codes, and how fast the links are read at start.
 * On a real store in a temporary folder; answers are checked before anything is timed.
 */
import { getRandomValues } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Bench } from 'tinybench';
import { Codes } from '../../src/product/codes/codes.ts';
import type { CodeFilter } from '../../src/product/codes/search/listing.ts';
import { createIdSource } from '../../src/model/ids.ts';
import type { Actor } from '../../src/model/workspace.ts';
import { openManagement } from '../../src/store/management/management.ts';
import { systemClock } from '../../src/platform/system-clock.ts';
import { codesOptions } from '../codes.ts';
import { makeSigningKeys } from '../../src/product/workspaces/signing-keys.ts';
import {
  openWorkspaceServices,
  type WorkspaceServices,
} from '../../src/product/workspaces/services.ts';

export const question =
  'What do token and quota, a list of 100,000 codes, and reading links at start cost?';

interface Row {
  readonly name: string;
  readonly nanosecondsPerOperation: number;
  readonly note?: string;
}

const codesFull = 100_000;
const codesQuick = 1_000;
/** Creates that are in flight together: they share commits, as a bulk import's do. */
const wave = 1_000;
const pageLimit = 20;

export async function run(options: { quick: boolean }): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-bench-'));
  const store = openManagement(join(folder, 'management.mdb'), 'create');
  makeSigningKeys(folder, getRandomValues);
  const ids = createIdSource(systemClock, getRandomValues);
  const services = openWorkspaceServices({
    store,
    ids,
    clock: systemClock,
    randomBytes: getRandomValues,
    passwordCostLog2: 4,
    dataDir: folder,
  });
  try {
    const codes = new Codes(codesOptions(store));
    const first = { email: 'a@b.example', password: 'password', plan: 'enterprise' } as const;
    const made = await services.workspaces.bootstrap(first);
    if (made === undefined) throw new Error('Cannot bench: the store is not empty');
    const { actor } = await services.keys.verify(made.apiKey);
    const count = options.quick ? codesQuick : codesFull;
    const filled = await fill(codes, actor, count);
    const rows = [filled, readLinks(codes, count)];
    const { secret } = await services.sessions.begin(made.user.id, made.user.passwordHash);
    rows.push(...(await guardRows(services, { token: made.apiKey, secret }, options.quick)));
    rows.push(...(await listRows(codes, count, options.quick)));
    return rows;
  } finally {
    await services.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function fill(codes: Codes, actor: Actor, count: number): Promise<Row> {
  const startedMs = systemClock.monotonicMs();
  for (let made = 0; made < count; made += wave) {
    const drafts = Array.from({ length: Math.min(wave, count - made) }, (_, at) => ({
      target: `https://shop.example.com/products/${made + at}?utm_source=qr`,
      name: `Poster ${made + at}`,
      tags: (made + at) % 2 === 0 ? ['even'] : ['odd', `row-${(made + at) % 50}`],
    }));
    await Promise.all(drafts.map(async (draft) => await codes.create(actor, draft)));
  }
  return row('create, 1,000 in flight', startedMs, count);
}

function readLinks(codes: Codes, count: number): Row {
  const startedMs = systemClock.monotonicMs();
  const loaded = codes.links.load();
  if (loaded !== count) throw new Error(`Cannot bench: ${loaded} links loaded, expected ${count}`);
  const read = row('read a link at start', startedMs, count);
  const perSecond = Math.round(1e9 / read.nanosecondsPerOperation).toLocaleString('en');
  return { ...read, note: `${perSecond} links a second, without the link table's own work` };
}

async function guardRows(
  services: WorkspaceServices,
  { token, secret }: { readonly token: string; readonly secret: string },
  quick: boolean,
): Promise<Row[]> {
  if (services.sessions.find(secret) === undefined) throw new Error('Cannot bench: no session');
  const limits = { perMinute: Number.MAX_SAFE_INTEGER, perDay: undefined };
  const bench = newBench(quick)
    .add('verify a token, warm', async () => await services.keys.verify(token))
    .add('verify a token and take quota, warm', async () => {
      const { actor } = await services.keys.verify(token);
      services.quota.take(actor.workspaceNo, limits);
    })
    .add('find a session', () => services.sessions.find(secret))
    .add('take quota', () => services.quota.take(1, limits));
  return rowsOf(await bench.run());
}

async function listRows(codes: Codes, count: number, quick: boolean): Promise<Row[]> {
  const list = async (filter: CodeFilter, page = 1): Promise<number> =>
    (await codes.list(1, { filter, limit: pageLimit, page })).total;
  const expect = (found: number, expected: number): void => {
    if (found !== expected) throw new Error(`Cannot bench: total ${found}, expected ${expected}`);
  };
  const pages = count / pageLimit;
  const deep = await codes.list(1, { filter: {}, limit: pageLimit, page: pages - 2 });
  const cursor = deep.nextCursor ?? '';
  expect(await list({}), count);
  expect(await list({ tag: 'even' }), count / 2);
  expect(await list({ tag: 'even', type: 'url' }), count / 2);
  expect(await list({ search: 'products/77' }), quick ? 11 : 1_111);
  let fresh = 0;
  const bench = newBench(quick)
    .add('list: first page', async () => await list({}))
    .add('list: a tag', async () => await list({ tag: 'even' }))
    .add('list: last page by number', async () => await list({}, pages))
    .add('list: deep page by cursor', async () => {
      await codes.list(1, { filter: {}, limit: pageLimit, cursor });
    })
    .add('list: days, total counted anew', async () => await list({ fromDay: ++fresh % 20_000 }))
    .add('list: a search, total known', async () => await list({ search: 'products/77' }))
    .add('list: a search, total counted anew', async () => await list({ search: `shop${++fresh}` }))
    .add('list: tag and type, counted anew', async () => {
      await list({ tag: 'odd', dynamic: true, fromDay: ++fresh % 20_000 });
    });
  return rowsOf(await bench.run());
}

function newBench(quick: boolean): Bench {
  return new Bench(
    quick ? { time: 1, iterations: 2, warmup: false } : { time: 500, warmupTime: 100 },
  );
}

function rowsOf(tasks: Awaited<ReturnType<Bench['run']>>): Row[] {
  return tasks.map(({ name, result }) => {
    if (!('latency' in result)) throw new Error(`Cannot bench ${name}: it did not complete`);
    const { p50, p99 } = result.latency;
    return {
      name,
      nanosecondsPerOperation: p50 * 1e6,
      note: `median; p99 ${(p99 * 1e3).toFixed(0)} µs`,
    };
  });
}

function row(name: string, startedMs: number, operations: number): Row {
  const spentMs = systemClock.monotonicMs() - startedMs;
  return { name, nanosecondsPerOperation: (spentMs * 1e6) / operations };
}
