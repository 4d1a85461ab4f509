/**
 * What grows while deliveries never pause: scans at a steady rate, an endpoint that takes each, and every few
 * seconds the service's memory, its files, its open handles. A leak is a slope, so the second half of the
 * run is fitted with a line: the first half fills caches, lists that keep their newest thousand, and heaps.
 *
 *   scans   grows as it must: raw scans are kept for 90 days           ~25 bytes a scan
 *   delivery  must not: what was delivered is pruned, and LMDB is to use its pages again (lmdb-js has an
 *             open bug for loads of puts and deletes)
 *   journal   must not: consumed segments are deleted
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../../../src/platform/system-clock.ts';
import { formatTable, quantile, slopeOf } from '../../report.ts';
import type { Arena, Service } from '../arena.ts';
import { memoryOf, spentSince, threadNanoseconds } from '../cpu.ts';
import { pace } from '../pacer.ts';
import { createRequests } from '../requests.ts';
import { pathsOf } from '../seed.ts';
import { coldCodes, hotCodes, openScanStage, type Stage } from './stage.ts';

const connections = 64;
/** Of ten scans nine are of ten busy codes, sent as lists; the tenth goes alone. */
const hotRepeats = 900;
/** One measurement each; the load is opened again for it. */
const sliceSeconds = 5;
/** The last scans' windows, deliveries and commits. */
const settleMs = 2_000;
const pollMs = 20;
const lateMsMax = 20_000;

export interface SoakSample {
  readonly atSeconds: number;
  /** Without pages of files. */
  readonly memoryBytes: number;
  readonly fileBytes: Readonly<Record<string, number>>;
  readonly handles: number;
  readonly threads: number;
  /** From redirect to receiver, of this slice. */
  readonly delayP99Ms: number;
  readonly deliveries: number;
  readonly cores: number;
}

export interface Soak {
  readonly samples: readonly SoakSample[];
  readonly scans: number;
  /** Scans that the receiver got: more than `scans` are duplicates, fewer are losses. */
  readonly received: number;
}

export interface SoakBounds {
  readonly rate: number;
  readonly seconds: number;
  /** Another revision of the service. */
  readonly tree?: string;
  readonly onSample?: (sample: SoakSample) => void;
}

export async function measureSoak(arena: Arena, bounds: SoakBounds): Promise<Soak> {
  const { tree } = bounds;
  const stage = await openScanStage(arena, tree === undefined ? {} : { tree });
  try {
    return await soak(stage, bounds);
  } finally {
    await stage.close();
  }
}

async function soak(
  { service, receiver }: Stage,
  { rate, seconds, onSample }: SoakBounds,
): Promise<Soak> {
  const paths = pathsOf(hotCodes + coldCodes);
  const hot = Array.from({ length: hotRepeats }, () => paths.slice(0, hotCodes)).flat();
  const requests = createRequests('q.example', [...hot, ...paths.slice(hotCodes)], 8_192);
  const { port, pid } = service.server;
  const startedMs = systemClock.monotonicMs();
  const samples: SoakSample[] = [];
  let scans = 0;
  let received = 0;
  const slice = Math.min(sliceSeconds, seconds);
  while (systemClock.monotonicMs() - startedMs < seconds * 1e3) {
    const before = threadNanoseconds(pid);
    const { sent } = await pace({ port, requests, connections, rate, seconds: slice });
    scans += sent;
    const part = await receiver.take();
    received += part.latenciesMs.length;
    const sample = {
      atSeconds: (systemClock.monotonicMs() - startedMs) / 1e3,
      ...sizesOf(service),
      delayP99Ms: quantile(part.latenciesMs, 0.99),
      deliveries: part.requests,
      cores: spentSince(pid, before).allNanoseconds / 1e9 / slice,
    };
    samples.push(sample);
    onSample?.(sample);
  }
  for (let waitedMs = 0; received < scans && waitedMs < lateMsMax; waitedMs += pollMs) {
    await wait(pollMs);
    received += (await receiver.take()).latenciesMs.length;
  }
  await wait(settleMs);
  received += (await receiver.take()).latenciesMs.length;
  return { samples, scans, received };
}

function sizesOf({ server: { pid }, dataDir }: Service) {
  const { residentBytes, fileBytes: mapped } = memoryOf(pid);
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return {
    memoryBytes: residentBytes - mapped,
    fileBytes: sizesIn(dataDir),
    handles: readdirSync(`/proc/${pid}/fd`).length,
    threads: Number(/^Threads:\s+(\d+)/m.exec(status)?.[1] ?? 0),
  };
}

/** Bytes by what is directly in the folder; a folder counts whole. */
function sizesIn(folder: string): Record<string, number> {
  const sizes: Record<string, number> = {};
  for (const name of readdirSync(folder)) sizes[name] = bytesOf(join(folder, name));
  return sizes;
}

/** A segment may be deleted after its folder was read. */
function bytesOf(path: string): number {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return 0;
  if (!stat.isDirectory()) return stat.size;
  return readdirSync(path).reduce((sum, name) => sum + bytesOf(join(path, name)), 0);
}

/** Bytes, or things, a minute by least squares over the samples' second half. */
function slope(samples: readonly SoakSample[], of: (sample: SoakSample) => number): number {
  const half = samples.slice(Math.floor(samples.length / 2));
  return slopeOf(half.map((sample) => [sample.atSeconds / 60, of(sample)]));
}

/** First, middle and last value of all that may grow, and its slope. */
export function formatSoak({ samples, scans, received }: Soak): string {
  const plain = (count: number): string => count.toFixed(0);
  const middle = samples[Math.floor(samples.length / 2)]!;
  const row = (
    name: string,
    of: (sample: SoakSample) => number,
    format: (value: number) => string,
  ): string[] => {
    const highest = Math.max(...samples.map(of));
    const values = [of(samples[0]!), of(middle), of(samples.at(-1)!), highest];
    return [name, ...values.map(format), slope(samples, of).toFixed(3)];
  };
  const mb = (name: string, of: (sample: SoakSample) => number): string[] =>
    row(
      name,
      (sample) => of(sample) / 1e6,
      (value) => value.toFixed(1),
    );
  const names = Object.keys(samples.at(-1)!.fileBytes).filter(
    (name) => (samples.at(-1)!.fileBytes[name] ?? 0) > 100_000,
  );
  const rows = [
    mb('memory, MB', ({ memoryBytes }) => memoryBytes),
    ...names.map((name) => mb(`${name}, MB`, ({ fileBytes }) => fileBytes[name] ?? 0)),
    row('handles', ({ handles }) => handles, plain),
    row('threads', ({ threads }) => threads, plain),
    row('delay p99, ms', ({ delayP99Ms }) => delayP99Ms, plain),
    row(
      'cores',
      ({ cores }) => cores,
      (value) => value.toFixed(2),
    ),
  ];
  const headings = ['', 'first', 'middle', 'last', 'highest', 'a minute'];
  const minutes = (samples.at(-1)!.atSeconds / 60).toFixed(1);
  const sums = `${minutes} minutes, ${plain(scans)} scans, ${plain(received)} received`;
  return `${formatTable(headings, rows)}\n${sums}`;
}
