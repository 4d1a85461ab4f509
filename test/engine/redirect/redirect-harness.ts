/**
 * Redirect threads as the service runs them, over real sockets, without the rest of it: a link table
 * and journals that a test can look into.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { type Config, loadConfig } from '../../../src/platform/config/config.ts';
import { Journals, journalsIn } from '../../../src/engine/journal/journals.ts';
import { RedirectThreads } from '../../../src/engine/redirect/redirect-threads.ts';
import type { PageChanges } from '../../../src/engine/redirect/pages.ts';
import type { RedirectCommand } from '../../../src/engine/redirect/redirect-thread.ts';
import type { Link } from '../../../src/engine/links/layout.ts';
import type { RouteConditions, RouteRule, Routing } from '../../../src/model/routing/routing.ts';
import { JournalReader } from '../../../src/engine/journal/reader.ts';
import { RecordCursor } from '../../../src/engine/journal/record.ts';
import type { GeoData } from '../../../src/engine/visitor/geo/geo.ts';
import { shipped } from '../../../src/platform/shipped.ts';
import { openScanStore } from '../../../src/store/scans/scans.ts';
import { systemClock } from '../../../src/platform/system-clock.ts';
import { createLog } from '../../../src/platform/log.ts';
import { routedLink, targetOf } from '../links/routed.ts';
import { openTable } from '../links/table.ts';
import { ownGeo, writeMmdb } from '../visitor/geo-data.ts';
import { agents as phones, botAgent } from '../../torture/ledger.ts';
import { freePorts } from '../../support/process.ts';
import { entriesOf } from '../../support/running-service.ts';
import { sendRaw } from '../../support/raw-http.ts';

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

export type RedirectHarness = Awaited<ReturnType<typeof startRedirects>>;

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

export async function startRedirects(options: RedirectHarnessOptions = {}) {
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
  const { memory, writer: links } = openTable({ readersMax: threads });
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
    links,
    /** Why threads ended, from the log. */
    deaths: (): unknown[] =>
      entries('a redirect thread failed, restarting').map((entry) => Reflect.get(entry, 'reason')),
    areListening: () => redirects.states.every(({ isListening }) => isListening),
    /** Redirects of each thread that was stopped, in its last life; from the log. */
    stopped: () =>
      entries('a redirect thread stopped').map((entry) => Number(Reflect.get(entry, 'redirects'))),
    /** All scans in the journals so far, in order within each. */
    scans: () =>
      journals.own.flatMap((journal) =>
        readScans(journals.folder(journal), journals.tails.position(journal)),
      ),
    send: (thread: number, command: unknown): void =>
      redirects.states[thread]!.thread.send(command as RedirectCommand),
    drain,
    close: async () => {
      if (!isDrained) await drain();
      await store.environment.close();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

function readScans(folder: string, tail: number) {
  const reader = new JournalReader(folder, 1);
  const cursor = new RecordCursor();
  const address = Buffer.alloc(16);
  type Fields = 'codeNo' | 'agent' | 'referer' | 'isPrefetch' | 'route';
  const scans: Array<Pick<RecordCursor, Fields> & { readonly address: string }> = [];
  for (let at = 0; at < tail;) {
    at = reader.read(at, tail, (bytes, frameAt) => {
      cursor.open(bytes, frameAt);
      while (cursor.next()) {
        cursor.copyAddress(address);
        const { codeNo, agent, referer, isPrefetch, route } = cursor;
        scans.push({ codeNo, agent, referer, isPrefetch, route, address: address.toString('hex') });
      }
    });
  }
  reader.close();
  return scans;
}

/** Redirect threads and codes with programs, for tests that ask for these as a client does. */

export const agents = {
  iphone: phones[0].text,
  pixel: phones[1].text,
  firefox: phones[2].text,
  imessage:
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0',
  whatsapp: 'WhatsApp/2.23.20.0 A',
  slack: 'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
  google: botAgent,
} as const;

/** 81.2.64.0/20 is German, 9.0.0.0/8 American. */
export function geoData(): GeoData {
  const folder = mkdtempSync(join(tmpdir(), 'quietzone-routes-'));
  const countryFile = join(folder, 'countries.mmdb');
  const networks = [
    ['81.2.64.0/20', { country_code: 'DE' }],
    ['9.0.0.0/8', { country_code: 'US' }],
  ] as const;
  writeFileSync(countryFile, writeMmdb(4, networks));
  const data = ownGeo({ countryFile });
  rmSync(folder, { recursive: true });
  return data;
}

export const rule = (label: string, conditions: RouteConditions): RouteRule => ({
  label,
  if: conditions,
  then: { target: targetOf(label) },
});

export interface Asked {
  readonly agent?: string;
  /** Whole lines. */
  readonly headers?: string;
  readonly method?: string;
}

/** Redirects of codes with programs, each put into the table as a code of its own. */
export async function startRouted() {
  const harness = await startRedirects({ trustedProxies: ['127.0.0.0/8'], geo: geoData() });
  let codes = 100;

  const put = (fields: Partial<Routing>, more: Partial<Link> = {}) => {
    const codeNo = ++codes;
    const key = `ROUTED${codeNo}`;
    harness.links.put(routedLink(key, fields, { codeNo, ...more }));
    return { path: `/${key}`, key, codeNo };
  };

  const ask = async (
    path: string,
    { agent = agents.iphone, headers = '', method = 'GET' }: Asked = {},
  ) => {
    const lines = `Host: s.example\r\nUser-Agent: ${agent}\r\nConnection: close\r\n${headers}`;
    const text = `${method} ${path} HTTP/1.1\r\n${lines}\r\n`;
    const answer = await sendRaw(harness.port, [Buffer.from(text, 'latin1')]);
    const [head = '', body = ''] = answer.text.split('\r\n\r\n');
    const location = /^Location: (.*)$/m.exec(head)?.[1]?.replace(/\r$/, '');
    return { status: Number(head.slice(9, 12)), location, head, body };
  };

  /** What is recorded of a code so far, by the numbers of routes. */
  const routesOf = async (no: number): Promise<number[]> => {
    // A page is answered before its cycle ends, and is recorded then: before the next answer.
    await ask(put({}).path);
    return harness.scans().flatMap(({ codeNo, route }) => (codeNo === no ? [route] : []));
  };

  return { harness, put, ask, routesOf };
}
