/**
 * A thousand receivers in one process: each path is one. They answer at once, or, where ordered, take the
 * request and hold the socket. Sends its port to its parent; answers each message with the requests seen since the last.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { systemClock } from '../../../src/platform/system-clock.ts';
import type { CrowdOrder, CrowdSeen, Sighting } from './crowd-stage.ts';

const lagTickMs = 5;

let hangEvery = 0;
let sightings: Sighting[] = [];
let altered = 0;
let lagMs = 0;
const bodies = new Map<string, string>();

interface Envelope {
  readonly id: string;
  readonly createdAt: string;
}

function take(request: IncomingMessage, response: ServerResponse): void {
  const atMs = systemClock.now();
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks).toString();
    const { id, createdAt }: Envelope = JSON.parse(body);
    const endpoint = Number(request.url?.slice(1));
    const attempt = Number(request.headers['x-service-attempt']);
    if ((bodies.get(id) ?? body) !== body) altered += 1;
    bodies.set(id, body);
    const isHeld = hangEvery > 0 && endpoint % hangEvery === 0;
    const sighting = { endpoint, id, attempt, atMs, delayMs: atMs - Date.parse(createdAt), isHeld };
    if (!isHeld) {
      sightings.push(sighting);
      response.end('ok');
      return;
    }
    response.once('close', () => {
      sightings.push({ ...sighting, endedMs: systemClock.now() });
    });
  });
}

let tickedMs = systemClock.monotonicMs();
setInterval(() => {
  const nowMs = systemClock.monotonicMs();
  lagMs = Math.max(lagMs, nowMs - tickedMs);
  tickedMs = nowMs;
}, lagTickMs);

const server = createServer(take);
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.({ port: typeof address === 'object' && address !== null ? address.port : 0 });
});
process.on('message', (order: CrowdOrder) => {
  if (order.hangEvery !== undefined) {
    ({ hangEvery } = order);
    // Earlier blocks of the event loop do not matter from here on.
    if (hangEvery > 0) lagMs = 0;
  }
  const seen: CrowdSeen = { sightings, altered, lagMs };
  sightings = [];
  process.send?.(seen);
});
process.on('disconnect', () => process.exit());
