/**
 * Thread entry of the short-link port: builds the redirect of `redirect.ts` and listens, with TLS also on a second
 * port without it.
 * All redirect threads listen on the same port (SO_REUSEPORT: the kernel deals out connections); the
 * control thread has made sure that no other process does.
 *
 * Drain: stop listening, answer what still comes with `Connection: close`, stop when no client is left or
 * after the command's `msMax`; then the journal is on the disk before the thread ends.
 */
import { build, encodeIntoCompressedBase64 } from 'hdr-histogram-js';
import * as uWS from 'uWebSockets.js';
import { LinkReader } from '../links/reader.ts';
import { JournalPositions } from '../scans/journal/positions.ts';
import { diskAt, JournalWriter } from '../scans/journal/writer.ts';
import { BotReasons } from '../scans/visitor/bot.ts';
import { systemClock } from '../system-clock.ts';
import { openThreadChannel } from '../workers/thread-setup.ts';
import { ClientAddresses } from './client-address.ts';
import { MissThrottle } from './miss-throttle.ts';
import { Redirect } from './redirect.ts';
import {
  latencyRange,
  type RedirectMessage,
  type RedirectCommand,
  type RedirectSetup,
} from './redirect-thread.ts';
import { Refusals } from './refusals.ts';
import { ScannerAddresses } from './scanner-address.ts';
import { createApp } from './uws-app.ts';

const figuresMs = 1_000;
const drainPollMs = 25;
/** What a power cut may cost, unless durability is `power`. */
const syncMs = 200;

const channel = openThreadChannel<RedirectSetup, RedirectMessage, RedirectCommand>();
const { setup, send } = channel;

const addresses = new ScannerAddresses(
  new ClientAddresses(setup.trustedProxies),
  setup.trustedProxyHeader,
);
const throttle = new MissThrottle(setup.unknownPerMinuteMax, setup.missSeed, setup.misses);
const refusals = new Refusals(addresses, throttle);
const journal = new JournalWriter({
  folder: setup.journalFolder,
  journal: setup.thread,
  position: setup.journalPosition,
  segmentBytesMax: setup.segmentBytesMax,
  segmentMsMax: setup.segmentMsMax,
  backlogBytesMax: setup.backlogBytesMax,
  tails: new JournalPositions(setup.tails),
  disk: diskAt(setup.journalRoot),
});
const latency = build({
  ...latencyRange,
});
const redirect = new Redirect({
  links: new LinkReader(setup.links, setup.thread),
  journal,
  durability: setup.durability,
  addresses,
  botReasons: new BotReasons(),
  refusals,
  clock: systemClock,
  latency,
});

function figures(): RedirectMessage & { kind: 'figures' } {
  const encoded = latency.totalCount === 0 ? '' : encodeIntoCompressedBase64(latency);
  latency.reset();
  return {
    kind: 'figures',
    figures: {
      redirects: redirect.redirects,
      refused: { ...refusals.counts },
      connections: addresses.open,
      waitingScans: journal.waitingScans,
      droppedScans: journal.droppedScans,
      journalPosition: journal.position,
      journalFault: journal.fault,
      latency: encoded,
    },
  };
}

const secure = setup.tlsCertFile !== '';
const listeners = [{ app: createApp(setup), port: setup.port }];
if (setup.httpPort > 0) listeners.push({ app: createApp(), port: setup.httpPort });
for (const { app } of listeners) redirect.attach(app);
const closeApps = (): void => {
  for (const { app } of listeners) app.close();
};
// Whatever ends this thread, its sockets go first: libuv aborts the whole process when a thread leaves
// them open, and the kernel would go on giving connections to a listener that no thread serves.
process.on('exit', closeApps);

const listenSockets: uWS.us_listen_socket[] = [];
Atomics.wait(setup.gate, 0, 0);
for (const { app, port } of listeners) {
  app.listen(setup.host, port, (socket) => {
    if (socket === false) {
      const reason = secure
        ? 'the port or the TLS files cannot be used'
        : 'the port cannot be used';
      send({ kind: 'cannot-listen', port, reason });
      // Its successor tries again: at a restart the port may still be in the predecessor's hands.
      process.exit(1);
    }
    listenSockets.push(socket);
    if (listenSockets.length < listeners.length) return;
    send({ kind: 'listening', port: uWS.us_socket_local_port(listenSockets[0]!) });
  });
}

const syncTimer = setInterval(() => {
  if (journal.waitingScans > 0) journal.retry();
  journal.rotate(systemClock.monotonicMs());
  journal.sync().catch(() => undefined);
}, syncMs);
const figuresTimer = setInterval(() => send(figures()), figuresMs);

async function drain(msMax: number): Promise<void> {
  const endMs = systemClock.monotonicMs() + msMax;
  for (const socket of listenSockets.splice(0)) uWS.us_listen_socket_close(socket);
  redirect.isDraining = true;
  while (addresses.open > 0 && systemClock.monotonicMs() < endMs) {
    await new Promise((resolve) => setTimeout(resolve, drainPollMs));
  }
  closeApps();
  clearInterval(syncTimer);
  clearInterval(figuresTimer);
  journal.endSegment();
  await journal.close();
  send({ ...figures(), kind: 'stopped' });
  process.exit(0);
}

channel.onCommand(({ msMax }) => void drain(msMax));
