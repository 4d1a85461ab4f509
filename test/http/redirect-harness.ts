/**
 * Redirect threads as the service runs them, over real sockets, with a link table and journals that a
 * test can look into.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MissThrottle } from '../../src/http/miss-throttle.ts';
import type {
  RedirectFigures,
  RedirectMessage,
  RedirectCommand,
  RedirectSetup,
} from '../../src/http/redirect-thread.ts';
import { createLinkTableMemory } from '../../src/links/layout.ts';
import { LinkWriter } from '../../src/links/writer.ts';
import { JournalReader } from '../../src/scans/journal/reader.ts';
import { journalFolder, recoverJournal } from '../../src/scans/journal/segments.ts';
import { JournalTails } from '../../src/scans/journal/tails.ts';
import { RecordCursor } from '../../src/scans/record.ts';
import { systemClock } from '../../src/system-clock.ts';
import { SupervisedThread } from '../../src/workers/supervised-thread.ts';
import { freePorts } from '../support/process.ts';

export interface JournaledScan {
  readonly codeNo: number;
  readonly address: string;
  readonly agent: string;
  readonly referer: string;
  readonly isPrefetch: boolean;
}

export interface RedirectHarnessOptions {
  readonly threads?: number;
  readonly file?: URL;
  readonly durability?: RedirectSetup['durability'];
  readonly trustedProxies?: readonly string[];
  readonly trustedProxyHeader?: RedirectSetup['trustedProxyHeader'];
  readonly unknownPerMinuteMax?: number;
}

export interface RedirectHarness {
  readonly port: number;
  readonly links: LinkWriter;
  readonly deaths: string[];
  /** Threads that have said that they listen, once for each of their lives. */
  readonly lives: () => number;
  /** Of the threads that have stopped. */
  readonly stopped: RedirectFigures[];
  /** All scans in the journals so far, in order within each. */
  readonly scans: () => JournaledScan[];
  tell(thread: number, request: unknown): void;
  readonly drain: () => Promise<void>;
  readonly close: () => Promise<void>;
}

type Supervisor = SupervisedThread<RedirectSetup, RedirectCommand, RedirectMessage>;

/** What is the same for all threads of a harness. */
const settings = (options: RedirectHarnessOptions) => ({
  host: '127.0.0.1',
  tlsCertFile: '',
  tlsKeyFile: '',
  missSeed: 1,
  gate: new Int32Array(new SharedArrayBuffer(4)).fill(1),
  unknownPerMinuteMax: options.unknownPerMinuteMax ?? 0,
  trustedProxies: options.trustedProxies ?? [],
  trustedProxyHeader: options.trustedProxyHeader ?? 'any',
  durability: options.durability ?? 'process',
  segmentBytesMax: 2 ** 20,
  backlogBytesMax: 2 ** 20,
  drainMsMax: 2_000,
});

export async function startRedirects(
  options: RedirectHarnessOptions = {},
): Promise<RedirectHarness> {
  const root = mkdtempSync(join(tmpdir(), 'quietzone-redirect-'));
  const threads = options.threads ?? 1;
  const memory = createLinkTableMemory({
    slotBytesMax: 2 ** 22,
    arenaBytesMax: 2 ** 24,
    readersMax: threads,
    linksExpected: 0,
  });
  const tails = new JournalTails();
  const misses = new MissThrottle(0, 0).memory;
  const { redirect: port } = await freePorts();
  const deaths: string[] = [];
  const stopped: RedirectFigures[] = [];
  let lives = 0;
  let isDrained = false;
  const supervisors: Supervisor[] = [];
  for (let thread = 0; thread < threads; thread++) {
    const folder = journalFolder(root, thread);
    await new Promise<void>((resolve, reject) => {
      const supervisor: Supervisor = new SupervisedThread({
        file: options.file ?? new URL('../../src/http/redirect.worker.ts', import.meta.url),
        clock: systemClock,
        setup: () => ({
          ...settings(options),
          thread,
          port,
          links: memory,
          misses,
          journalFolder: folder,
          journalPosition: recoverJournal(folder, 0).position,
          tails: tails.memory,
        }),
        onMessage: (message) => {
          if (message.kind === 'listening') resolve(void (lives += 1));
          if (message.kind === 'cannot-listen') reject(new Error(message.reason));
          if (message.kind === 'stopped') stopped.push(message.figures);
        },
        onDeath: (reason) => deaths.push(reason),
      });
      supervisors.push(supervisor);
      supervisor.start().catch(reject);
    });
  }
  const drain = async (): Promise<void> => {
    isDrained = true;
    await Promise.all(supervisors.map((one) => one.stop({ kind: 'drain' }, 30_000)));
  };
  return {
    port,
    links: new LinkWriter(memory),
    deaths,
    lives: () => lives,
    stopped,
    scans: () =>
      supervisors.flatMap((_, at) => readScans(journalFolder(root, at), tails.position(at))),
    tell: (thread, request) => supervisors[thread]!.send(request as RedirectCommand),
    drain,
    close: async () => {
      if (!isDrained) await drain();
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
        const { codeNo, agent, referer, isPrefetch } = cursor;
        into.push({ codeNo, agent, referer, isPrefetch, address: address.toString('hex') });
      }
    });
  }
  reader.close();
  return into;
}
