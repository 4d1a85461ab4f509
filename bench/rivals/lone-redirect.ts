/**
 * Our redirect alone: link table, journal and redirect in one process without shard and control thread.
 * What the service needs above this is the price of sharing two cores with the threads that count.
 *
 *   node lone-redirect.ts PORT FOLDER CODES [TRUSTED_PROXY]
 */
import { mkdirSync } from 'node:fs';
import * as uWS from 'uWebSockets.js';
import { ClientAddresses } from '../../src/platform/uws/client-address.ts';
import { MissThrottle } from '../../src/engine/redirect/miss-throttle.ts';
import { Pages } from '../../src/engine/redirect/pages.ts';
import { Redirect } from '../../src/engine/redirect/redirect.ts';
import { Refusals } from '../../src/engine/redirect/refusals.ts';
import { ScannerAddresses } from '../../src/engine/redirect/scanner-address.ts';
import { createLinkTableMemory } from '../../src/engine/links/layout.ts';
import { LinkReader } from '../../src/engine/links/reader.ts';
import { LinkWriter } from '../../src/engine/links/writer.ts';
import { JournalPositions } from '../../src/engine/journal/positions.ts';
import { JournalWriter } from '../../src/engine/journal/writer.ts';
import { Geo } from '../../src/engine/visitor/geo/geo.ts';
import { systemClock } from '../../src/platform/system-clock.ts';
import { createLatencyHistogram } from '../../src/platform/latency-histogram.ts';
import { shortCodeOf, targetOf } from '../loads/seed.ts';

const [port, folder = '', codes, trustedProxy] = process.argv.slice(2);
const syncMs = 200;

const memory = createLinkTableMemory({
  slotBytesMax: 2 ** 31,
  arenaBytesMax: 2 ** 34,
  readersMax: 1,
  linksExpected: Number(codes),
});
const writer = new LinkWriter(memory, systemClock);
for (let no = 1; no <= Number(codes); no++) {
  writer.put({
    key: shortCodeOf(no),
    codeNo: no,
    workspaceNo: 1,
    target: targetOf(no),
    expiresAtMs: 0,
    scansLeft: -1,
    state: 'live',
  });
}
mkdirSync(folder, { recursive: true });
const journal = new JournalWriter({
  folder,
  journal: 0,
  position: 0,
  segmentBytesMax: 67_108_864,
  segmentMsMax: 60_000,
  backlogBytesMax: 33_554_432,
  tails: new JournalPositions(),
});
const addresses = new ScannerAddresses(
  new ClientAddresses(trustedProxy === undefined ? [] : [trustedProxy]),
);
const redirect = new Redirect({
  links: new LinkReader(memory, 0),
  geo: new Geo({}),
  journal,
  durability: 'process',
  addresses,
  refusals: new Refusals(addresses, new MissThrottle(0), { pages: new Pages({}), rootUrl: '' }),
  clock: systemClock,
  latency: createLatencyHistogram(),
});
const app = uWS.App();
redirect.attach(app);
app.filter((response, change) => addresses.connection(response, change));
app.listen('127.0.0.1', Number(port), (socket) => {
  if (socket === false) process.exit(1);
});
setInterval(() => void journal.sync().catch(() => undefined), syncMs);
