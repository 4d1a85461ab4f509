/**
 * Entry of a redirect thread: builds the redirect of `redirect.ts` and listens, with TLS also on a second port without TLS.
 * All redirect threads listen on the same port (SO_REUSEPORT: the kernel distributes connections).
 */
import { isDeepStrictEqual } from 'node:util';
import { LinkReader } from '../links/reader.ts';
import { JournalPositions } from '../journal/positions.ts';
import { diskAt, JournalWriter, segmentBytesMax } from '../journal/writer.ts';
import { Geo } from '../visitor/geo/geo.ts';
import { systemClock } from '../../platform/system-clock.ts';
import { createLatencyHistogram, takeCounts } from '../../platform/latency-histogram.ts';
import { openThreadChannel } from '../../platform/workers/supervised-thread.ts';
import { ClientAddresses } from '../../platform/uws/client-address.ts';
import { Listener } from '../../platform/uws/listener.ts';
import { MissThrottle } from './miss-throttle.ts';
import { Pages } from './pages.ts';
import { Redirect } from './redirect.ts';
import {
  gate,
  type RedirectCommand,
  type RedirectFigures,
  type RedirectMessage,
  type RedirectSetup,
} from './redirect-thread.ts';
import { Refusals } from './refusals.ts';
import { ScannerAddresses } from './scanner-address.ts';

const figuresMs = 1_000;
const drainPollMs = 25;
/** Scans of this time can be lost in a power cut, unless durability is `power`. */
const syncMs = 200;

const channel = openThreadChannel<RedirectSetup, RedirectMessage, RedirectCommand>();
const { setup, send } = channel;

const addresses = new ScannerAddresses(new ClientAddresses(setup.trustedProxies));
const throttle = new MissThrottle(setup.missSeed, setup.misses);
const pages = new Pages(setup.brand);
pages.update(setup.pages);
const refusals = new Refusals(addresses, throttle, { pages, rootUrl: setup.rootUrl });
const journal = new JournalWriter({
  folder: setup.journalFolder,
  journal: setup.journal,
  position: setup.journalPosition,
  segmentBytesMax,
  segmentMsMax: setup.segmentMsMax,
  backlogBytesMax: setup.backlogBytesMax,
  tails: new JournalPositions(setup.tails),
  disk: diskAt(setup.journalRoot),
  onWork: () => syncIn(syncMs),
});
let syncTimer: NodeJS.Timeout | undefined;
const latency = createLatencyHistogram();
const redirect = new Redirect({
  links: new LinkReader(setup.links, setup.thread),
  geo: new Geo(setup.geo),
  journal,
  durability: setup.durability,
  addresses,
  refusals,
  clock: systemClock,
  latency,
});

function figures(): RedirectMessage & { kind: 'figures' } {
  return {
    kind: 'figures',
    figures: {
      redirects: redirect.redirects,
      refused: { ...refusals.counts },
      connections: addresses.open,
      shed: listeners.reduce((sum, { shed }) => sum + shed, 0),
      waitingScans: journal.waitingScans,
      droppedScans: journal.droppedScans,
      journalPosition: journal.position,
      journalFault: journal.fault,
      latency: takeCounts(latency),
    },
  };
}

const secure = setup.tlsCertFile !== '';
const tls = { tlsCertFile: setup.tlsCertFile, tlsKeyFile: setup.tlsKeyFile };
const ports = [
  { port: setup.port, tls },
  ...(setup.httpPort > 0 ? [{ port: setup.httpPort }] : []),
];
const listeners = ports.map(
  (at) =>
    new Listener({
      ...at,
      host: setup.host,
      connectionsMax: Math.floor(setup.connectionsMax / ports.length),
      attach: (app) => redirect.attach(app),
      onConnection: (response, change) => addresses.connection(response, change),
    }),
);
const closeApps = (): void => {
  for (const listener of listeners) listener.close();
};
// libuv aborts the process when a thread ends with open sockets, and the kernel would keep giving connections to
// a listener without a thread.
process.on('exit', closeApps);

let sentCounts: Omit<RedirectFigures, 'latency'> | undefined;
let listening = 0;

function listen(): void {
  for (const [at, listener] of listeners.entries()) {
    listener.listen((isListening) => {
      if (!isListening) {
        const reason = secure
          ? 'the port or the TLS files cannot be used'
          : 'the port cannot be used';
        send({ kind: 'cannot-listen', port: ports[at]!.port, reason });
        // The next thread tries again: during a restart the predecessor may still have the port.
        process.exit(1);
      }
      listening += 1;
      if (listening === listeners.length) {
        send({ kind: 'listening', port: listeners[0]!.port });
      }
    });
  }
}

/** Runs every `syncMs` while there is data to sync, then once when the open segment reaches its age limit. */
function syncIn(ms: number): void {
  clearTimeout(syncTimer);
  syncTimer = setTimeout(sync, ms);
}

function sync(): void {
  if (journal.waitingScans > 0) journal.retry();
  journal.rotate(systemClock.monotonicMs());
  journal.sync().catch(() => undefined);
  const idleMs = journal.idleMs(systemClock.monotonicMs());
  if (idleMs !== Infinity) syncIn(Math.max(syncMs, idleMs));
}

const figuresTimer = setInterval(sendFigures, figuresMs);

/** Sends changes only: a message wakes the control thread. */
function sendFigures(): void {
  const message = figures();
  const { latency: spent, ...counted } = message.figures;
  if (spent.length === 0 && isDeepStrictEqual(counted, sentCounts)) return;
  sentCounts = counted;
  send(message);
}

/** Each connection closes with its next answer. */
async function leave(): Promise<void> {
  redirect.isDraining = true;
  await Promise.all(listeners.map((listener) => listener.leave(systemClock)));
}

async function drain(msMax: number): Promise<void> {
  const endMs = systemClock.monotonicMs() + msMax;
  await leave();
  while (addresses.open > 0 && systemClock.monotonicMs() < endMs) {
    await new Promise((resolve) => setTimeout(resolve, drainPollMs));
  }
  closeApps();
  clearTimeout(syncTimer);
  clearInterval(figuresTimer);
  journal.endSegment();
  await journal.close();
  send({ ...figures(), kind: 'stopped' });
  process.exit(0);
}

async function handOver(): Promise<void> {
  redirect.isHandedOver = true;
  // The answers of this cycle are journaled when it ends.
  await leave();
  journal.retry();
  await journal.sync().catch(() => undefined);
  send(figures());
  send({ kind: 'handed-over' });
}

channel.onCommand((command) => {
  if (command.kind === 'pages') return pages.update(command.changes);
  return void (command.kind === 'drain' ? drain(command.msMax) : handOver());
});

send({ kind: 'booted' });
Atomics.wait(setup.gate, 0, gate.wait);
if (Atomics.load(setup.gate, 0) === gate.open) listen();
else send({ kind: 'handed-over' });
