/**
 * Redirect threads as the service runs them, over real sockets, without the rest of it: a link table
 * and journals that a test can look into.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { type Config, loadConfig } from '../../src/config.ts';
import { Journals, journalsIn } from '../../src/engine/journals.ts';
import { RedirectThreads } from '../../src/engine/redirect-threads.ts';
import type { PageChanges } from '../../src/http/pages.ts';
import type { RedirectCommand } from '../../src/http/redirect-thread.ts';
import { createLinkTableMemory } from '../../src/links/layout.ts';
import { LinkWriter } from '../../src/links/writer.ts';
import { JournalReader } from '../../src/scans/journal/reader.ts';
import { RecordCursor } from '../../src/scans/record.ts';
import type { GeoData } from '../../src/scans/visitor/geo/geo.ts';
import { openScanStore } from '../../src/store/scans/scans.ts';
import { shipped } from '../../src/shipped.ts';
import { systemClock } from '../../src/system-clock.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { entriesOf, freePorts } from '../support/process.ts';

export interface JournaledScan {
  readonly codeNo: number;
  readonly address: string;
  readonly agent: string;
  readonly referer: string;
  readonly isPrefetch: boolean;
  /** A route's number. */
  readonly route: number;
}

export interface RedirectHarnessOptions {
  readonly threads?: number;
  readonly file?: URL;
  readonly durability?: Config['durability'];
  readonly trustedProxies?: readonly string[];
  /** Absent = every country is unknown. */
  readonly geo?: GeoData;
  /** What workspaces say on their pages, at the start. */
  readonly pages?: () => PageChanges;
  /** More settings, by their variable. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Journals of another process. */
  readonly othersJournals?: readonly number[];
}

export interface RedirectHarness {
  readonly port: number;
  readonly links: LinkWriter;
  readonly redirects: RedirectThreads;
  readonly journals: Journals;
  /** Why threads ended, from the log. */
  readonly deaths: () => unknown[];
  readonly areListening: () => boolean;
  /** Redirects of each thread that was stopped, in its last life; from the log. */
  readonly stopped: () => number[];
  /** All scans in the journals so far, in order within each. */
  readonly scans: () => JournaledScan[];
  send(thread: number, command: unknown): void;
  readonly drain: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** It ends a hang: a thread that is cut off would not say that it has stopped. */
const drainMsMax = 20_000;

function configOf(options: RedirectHarnessOptions, port: number): Config {
  const { durability, trustedProxies } = options;
  return loadConfig(undefined, {
    QZ_REDIRECT_HOST: '127.0.0.1',
    QZ_REDIRECT_PORT: String(port),
    QZ_DURABILITY: durability ?? 'process',
    QZ_TRUSTED_PROXIES: (trustedProxies ?? []).join(','),
    ...options.settings,
  });
}

export async function startRedirects(
  options: RedirectHarnessOptions = {},
): Promise<RedirectHarness> {
  const root = mkdtempSync(join(tmpdir(), 'quietzone-redirect-'));
  const { threads = 1, file, othersJournals } = options;
  const { redirect: port } = await freePorts();
  let log = '';
  const logger = createLog('debug', { write: (line) => void (log += line) });
  const store = openScanStore(join(root, 'scans.mdb'), 'create');
  mkdirSync(join(root, 'journal'));
  const journals = new Journals({
    known: journalsIn(store),
    root: join(root, 'journal'),
    threads,
    log: logger,
    others: othersJournals,
  });
  const memory = createLinkTableMemory({
    slotBytesMax: 2 ** 22,
    arenaBytesMax: 2 ** 24,
    readersMax: threads,
    linksExpected: 0,
  });
  const redirects = new RedirectThreads({
    config: configOf(options, port),
    threads,
    clock: systemClock,
    log: logger,
    links: memory,
    geo: options.geo ?? {},
    journals,
    pages: options.pages,
    whenInPlace: () => Promise.resolve(),
  });
  const worker = file && vi.spyOn(shipped, 'workerFile').mockReturnValue(file);
  const openGate = await redirects.boot();
  worker?.mockRestore();
  await openGate();
  const entries = (message: string) => entriesOf(log).filter(({ msg }) => msg === message);
  let isDrained = false;
  const drain = async (): Promise<void> => {
    isDrained = true;
    await redirects.stop(drainMsMax);
  };
  return {
    port,
    redirects,
    journals,
    links: new LinkWriter(memory, systemClock),
    deaths: () =>
      entries('a redirect thread failed, restarting').map((entry) => Reflect.get(entry, 'reason')),
    areListening: () => redirects.states.every(({ isListening }) => isListening),
    stopped: () =>
      entries('a redirect thread stopped').map((entry) => Number(Reflect.get(entry, 'redirects'))),
    scans: () =>
      journals.own.flatMap((journal) =>
        readScans(journals.folder(journal), journals.tails.position(journal)),
      ),
    send: (thread, command) => redirects.states[thread]!.thread.send(command as RedirectCommand),
    drain,
    close: async () => {
      if (!isDrained) await drain();
      await store.environment.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function readScans(folder: string, tail: number): JournaledScan[] {
  const into: JournaledScan[] = [];
  const reader = new JournalReader(folder, 1);
  const cursor = new RecordCursor();
  const address = Buffer.alloc(16);
  let at = 0;
  while (at < tail) {
    at = reader.read(at, tail, (bytes, frameAt) => {
      cursor.open(bytes, frameAt);
      while (cursor.next()) {
        cursor.copyAddress(address);
        const { codeNo, agent, referer, isPrefetch, route } = cursor;
        const text = address.toString('hex');
        into.push({ codeNo, agent, referer, isPrefetch, route, address: text });
      }
    });
  }
  reader.close();
  return into;
}
