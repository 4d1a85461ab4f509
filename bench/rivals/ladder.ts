/**
 * The redirect, one step at a time: a bare uWebSockets.js that does with constant data what the redirect
 * thread does, up to and with the step named. The difference between two rungs is a step's price.
 *
 *   node ladder.ts PORT TARGET STEP JOURNAL_FILE
 */
import { openSync, writeSync } from 'node:fs';
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { redirectHead } from '../../src/engine/redirect/reply-batch.ts';
import { createApp, headerNames } from '../../src/platform/uws/uws-app.ts';
import { steps } from './steps.ts';

const [port, target = '', last = '', journalFile = ''] = process.argv.slice(2);
const batchMax = 1_024;
const recordHeaderBytes = 20;

const does = (step: (typeof steps)[number]): boolean =>
  steps.indexOf(step) <= steps.findIndex((name) => name === last);
const readsPath = does('path read');
const readsAgent = does('user agent read');
const readsReferer = does('referer read');
const readsOthers = does('prefetch and framing headers read');
const readsAddress = does('peer address read');
const hasAbortHandler = does('abort handler');
const answersLater = does('answers at the end of the cycle');
const encodes = does('record encoded');
const writes = does('journal written');

const bytes = Uint8Array.from(Buffer.from(`${redirectHead}\r\nLocation: ${target}`));
const isOnePiece = does('answer in one piece from memory');
const { secPurpose, purpose, xMoz, connection, transferEncoding, contentLength } = headerNames;
const others = [secPurpose, purpose, xMoz, connection, transferEncoding, contentLength];
const journal = openSync(journalFile, 'a');
const batch = Buffer.alloc(2 ** 21);
const responses: Array<HttpResponse | undefined> = [];
const aborts = Array.from({ length: batchMax }, (_, place) => () => {
  responses[place] = undefined;
});
let batchBytes = 0;
let count = 0;
let current = 0;
/** Keeps what is read alive. */
let sum = 0;

function answer(response: HttpResponse): void {
  if (isOnePiece) response.writeStatus(bytes);
  else {
    response.writeStatus(redirectHead);
    response.writeHeader('Location', target);
  }
  response.end();
}

const send = (): void => answer(responses[current]!);

function sendBatch(): void {
  if (writes) writeSync(journal, batch, 0, batchBytes);
  batchBytes = 0;
  const waiting = count;
  count = 0;
  for (let place = 0; place < waiting; place++) {
    current = place;
    responses[place]?.cork(send);
  }
}

function get(response: HttpResponse, request: HttpRequest): void {
  if (readsPath) sum += request.getUrl().length;
  const agent = readsAgent ? request.getHeader(headerNames.userAgent) : '';
  const referer = readsReferer ? request.getHeader(headerNames.referer) : '';
  if (readsOthers) for (const name of others) sum += request.getHeader(name).length;
  if (readsAddress) sum += new Uint8Array(response.getRemoteAddress())[3]!;
  if (hasAbortHandler) response.onAborted(aborts[count]!);
  if (encodes) {
    batchBytes += recordHeaderBytes + batch.write(agent, batchBytes + recordHeaderBytes, 'latin1');
    if (referer !== '') batchBytes += batch.write(referer, batchBytes, 'latin1');
  }
  if (!answersLater) {
    answer(response);
    return;
  }
  if (count === 0) setImmediate(sendBatch);
  responses[count++] = response;
}

const app = createApp();
app.any('/*', get);
app.listen('127.0.0.1', Number(port), (socket) => {
  if (socket === false || sum < 0) process.exit(1);
});
