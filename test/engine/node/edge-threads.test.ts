/** Threads of an edge: it redirects and journals without a store of scans. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { loadConfig } from '../../../src/config.ts';
import { openDataFolder } from '../../../src/engine/data-folder.ts';
import { EdgeThreads } from '../../../src/engine/threads.ts';
import { createLinkTableMemory, type LinkTableMemory } from '../../../src/links/layout.ts';
import { LinkWriter } from '../../../src/links/writer.ts';
import { listSegments } from '../../../src/scans/journal/segments.ts';
import { systemClock } from '../../../src/system-clock.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { linkOf } from '../../links/table.ts';
import { freePorts } from '../../support/process.ts';
import { soon } from '../../support/soon.ts';

let path = '';
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'quietzone-edge-threads-'));
  mkdirSync(join(path, 'journal'));
});
afterEach(() => rmSync(path, { recursive: true, force: true }));

async function openEdge(own: readonly number[], keptFrom: (journal: number) => number) {
  const { redirect: port } = await freePorts();
  const links: LinkTableMemory = createLinkTableMemory({
    slotBytesMax: 2 ** 20,
    arenaBytesMax: 2 ** 24,
    readersMax: own.length,
    linksExpected: 10,
  });
  new LinkWriter(links, systemClock).put(linkOf('ABCD2345', { codeNo: 11 }));
  const threads = new EdgeThreads({
    config: loadConfig(undefined, {
      QZ_REDIRECT_HOST: '127.0.0.1',
      QZ_REDIRECT_PORT: String(port),
      QZ_SCANS_SEGMENT_MS_MAX: '10',
    }),
    clock: systemClock,
    log: createLog('silent'),
    folder: openDataFolder(path),
    links,
    geo: {},
    threads: own.length,
    journals: { own, keptFrom, known: { numbers: () => [], endAtLeast: () => 500 } },
  });
  const open = await threads.redirects.boot();
  await open();
  return { threads, port };
}

const visit = (port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const at = { host: '127.0.0.1', port, path: '/ABCD2345', agent: false };
    const sent = request(at, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode ?? 0));
    });
    sent.once('error', reject).end();
  });

test('an edge redirects, and keeps what it has journaled as long as cores need it', async () => {
  let keptFrom = 0;
  const { threads, port } = await openEdge([40_000, 40_003], () => keptFrom);
  const { journals } = threads;
  expect(threads.redirects.port).toBe(port);
  const visits = await Promise.all(Array.from({ length: 30 }, () => visit(port)));
  expect(new Set(visits)).toEqual(new Set([302]));
  const tails = new Map(journals.ownTails());
  expect([...tails.keys()]).toEqual([40_000, 40_003]);
  const journaled = [...tails].filter(([, tail]) => tail > 500).map(([journal]) => journal);
  expect(journaled.length).toBeGreaterThan(0);
  const firsts = (): number[] =>
    journaled.map((journal) => listSegments(journals.folder(journal))[0] ?? -1);
  // Their segments have ended, and nothing of them is deleted until cores have counted it.
  const folders = journaled.map((journal) => journals.folder(journal));
  const segments = (): number[] => folders.map((folder) => listSegments(folder).length);
  await expect.poll(() => Math.min(...segments()), soon).toBeGreaterThan(1);
  journals.deleteOwn();
  expect(new Set(firsts())).toEqual(new Set([500]));
  keptFrom = Infinity;
  await expect.poll(firsts, soon).toEqual(journaled.map((journal) => tails.get(journal)));
  const checks = [...threads.redirects.checks, threads.folder.healthCheck];
  expect(checks.map(({ problem }) => problem())).toEqual([undefined, undefined, undefined]);
  await threads.stop();
  await expect(visit(port)).rejects.toThrow(/ECONNREFUSED/);
  expect(existsSync(join(path, 'scans.mdb'))).toBe(false);
  expect(readdirSync(path)).toEqual(['journal']);
});
