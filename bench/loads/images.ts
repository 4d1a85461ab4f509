/**
 * One cached image, requested as often as possible, against a bare uWebSockets.js with a body of its size.
 * They alternate, and the result is the ratio within a round. It needs wrk: autocannon reports a 200 as a
 * wrong answer, and is slower than the servers.
 */
import { openDataFolder } from '../../src/app/folder/data-folder.ts';
import { openManagement } from '../../src/store/management/management.ts';
import { median, spread } from '../report.ts';
import type { Arena } from './arena.ts';
import { busiestThread, spentSince, threadNanoseconds } from './cpu.ts';
import type { Generator } from './load.ts';
import { createRequests } from './requests.ts';
import { targetOf } from './seed.ts';

const connections = 32;
const answerMsMax = 30_000;
const pollMs = 50;

export interface ImageLoad {
  readonly generator: Generator;
  readonly rounds: number;
  readonly seconds: number;
}

export interface ImageLoadResult {
  readonly bytes: number;
  /** Images a second ÷ bodies a second, by round. */
  readonly rates: readonly number[];
  readonly ownMicroseconds: number;
  readonly bareMicroseconds: number;
}

/** @throws Error when an image does not come */
export async function measureCachedImage(arena: Arena, load: ImageLoad): Promise<ImageLoadResult> {
  const { server, dataDir, apiPort } = await arena.service({ codes: 1 });
  const path = `/i/${await codeId(dataDir)}.png`;
  const bytes = await bytesOf(`http://127.0.0.1:${apiPort}${path}`);
  const bare = await arena.rival('uws-body', [targetOf(1), String(bytes)]);
  const own = { pid: server.pid, port: apiPort };
  const measured: Array<{ readonly own: Measured; readonly bare: Measured }> = [];
  for (const one of [own, bare]) await measure(one, path, { ...load, seconds: 1 });
  for (let round = 0; round < load.rounds; round++) {
    measured.push({ own: await measure(own, path, load), bare: await measure(bare, path, load) });
  }
  return {
    bytes,
    rates: measured.map((round) => round.own.rate / round.bare.rate),
    ownMicroseconds: median(measured.map((round) => round.own.microseconds)),
    bareMicroseconds: median(measured.map((round) => round.bare.microseconds)),
  };
}

export function imageCells({ rates, ownMicroseconds, bareMicroseconds, bytes }: ImageLoadResult) {
  return [
    `PNG of ${bytes} bytes`,
    median(rates).toFixed(2),
    spread(rates),
    ownMicroseconds.toFixed(1),
    bareMicroseconds.toFixed(1),
  ];
}

interface Measured {
  readonly rate: number;
  /** Of the thread that works. */
  readonly microseconds: number;
}

async function measure(
  { pid, port }: { readonly pid: number; readonly port: number },
  path: string,
  { generator, seconds }: ImageLoad,
): Promise<Measured> {
  const requests = createRequests('q.example', [path], 64);
  const before = threadNanoseconds(pid);
  const done = await generator.run({ port, method: 'GET', requests, connections, seconds });
  if (done.failed > 0 || done.requests === 0) throw new Error(`${done.failed} images did not come`);
  const spent = spentSince(pid, before);
  const nanoseconds = spent.byThread.get(busiestThread(spent)) ?? 0;
  return { rate: done.requests / done.seconds, microseconds: nanoseconds / 1e3 / done.requests };
}

/** The store is open for several processes. */
async function codeId(dataDir: string): Promise<string> {
  const store = openManagement(openDataFolder(dataDir).managementFile);
  try {
    const [id] = store.codes.get(1) ?? [];
    if (id === undefined) throw new Error('Cannot load an image: there is no code 1');
    return id;
  } finally {
    await store.close();
  }
}

/** The API listens a moment after the redirects do. */
async function bytesOf(url: string): Promise<number> {
  for (let waited = 0; waited < answerMsMax; waited += pollMs) {
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.status === 200) return (await answer.arrayBuffer()).byteLength;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  throw new Error(`Cannot load ${url}: it does not come`);
}
