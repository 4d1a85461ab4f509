/**
 * The receiver of the benches: a bare uWebSockets.js that answers every POST with 200, so that it, which shares
 * the cores, takes as little of them as possible. Of bodies with scans it keeps how long after their redirect
 * they arrived: both ends read the same machine's clock, in whole milliseconds. It counts deliveries that come again.
 *
 * Sends its port to its parent, and answers each message with what arrived since the last.
 */
import * as uWS from 'uWebSockets.js';
import { systemClock } from '../../src/platform/system-clock.ts';
import type { Received } from '../loads/peers.ts';

const scanned = 'qr.scanned';
const batchFirstByte = '['.charCodeAt(0);
/** Deliveries that are known again: at least the last so many, at most twice as many. */
const knownMin = 200_000;

let requests = 0;
let batches = 0;
let repeated = 0;
let known = new Set<string>();
let knownBefore = new Set<string>();
let firstMs = 0;
let lastMs = 0;
let latenciesMs: number[] = [];

interface Envelope {
  readonly event: string;
  readonly data: { readonly scannedAt?: string };
}

/** @param id empty for a POST of the bare loop */
function know(id: string): void {
  if (id === '') return;
  if (known.has(id) || knownBefore.has(id)) repeated += 1;
  known.add(id);
  if (known.size < knownMin) return;
  knownBefore = known;
  known = new Set();
}

function note(body: Buffer, kind: string, atMs: number): void {
  requests += 1;
  if (body[0] === batchFirstByte) batches += 1;
  if (kind !== scanned) return;
  const parsed = JSON.parse(body.toString()) as Envelope | Envelope[];
  for (const { data } of Array.isArray(parsed) ? parsed : [parsed]) {
    latenciesMs.push(atMs - Date.parse(data.scannedAt ?? ''));
  }
}

function take(): Received {
  const received = { requests, batches, repeated, firstMs, lastMs, latenciesMs };
  requests = 0;
  batches = 0;
  repeated = 0;
  latenciesMs = [];
  return received;
}

uWS
  .App()
  .post('/*', (response, request) => {
    const atMs = systemClock.now();
    const kind = request.getHeader('x-service-event');
    know(request.getHeader('x-service-delivery'));
    const chunks: Buffer[] = [];
    if (requests === 0) firstMs = systemClock.monotonicMs();
    response.onAborted(() => undefined);
    response.onData((chunk, isLast) => {
      chunks.push(Buffer.from(chunk.slice(0)));
      if (!isLast) return;
      response.cork(() => response.end('ok'));
      lastMs = systemClock.monotonicMs();
      note(Buffer.concat(chunks), kind, atMs);
    });
  })
  .listen('127.0.0.1', 0, (socket) => {
    if (socket === false) process.exit(1);
    process.send?.({ port: uWS.us_socket_local_port(socket) });
  });
process.on('message', () => process.send?.(take()));
process.on('disconnect', () => process.exit());
