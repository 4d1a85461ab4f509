/**
 * The comparison: every contestant in every round, one after the other, so that whatever else the
 * machine does meets them all. A ratio is taken within a round, against the base's sample in that round;
 * what is reported is the median of the rounds.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { median, spread } from '../report.ts';
import { busiestThread, memoryOf, spentSince, threadNanoseconds } from './cpu.ts';
import type { Generator, LoadResult } from './load.ts';
import type { LoadRequest } from './requests.ts';
import type { Server } from './server.ts';

/** A shard counts what was answered within a window of 120 ms and saves it within seconds. */
const settleMs = 400;
const warmUpSeconds = 1;

export interface Contestant {
  readonly name: string;
  readonly server: Server;
  readonly requests: readonly LoadRequest[];
}

export interface Sample {
  readonly load: LoadResult;
  readonly allMicroseconds: number;
  readonly redirectMicroseconds: number;
}

export interface Result {
  readonly name: string;
  readonly samples: readonly Sample[];
  readonly residentBytes: number;
  readonly fileBytes: number;
}

export interface Schedule {
  readonly generator: Generator;
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
  readonly rate?: number;
}

/** @throws Error when a contestant gives a wrong answer */
export async function compare(
  contestants: readonly Contestant[],
  schedule: Schedule,
): Promise<Result[]> {
  const threads = new Map<Contestant, number>();
  const samples = new Map<Contestant, Sample[]>(contestants.map((contestant) => [contestant, []]));
  for (const contestant of contestants) {
    threads.set(contestant, await findRedirectThread(contestant, schedule));
  }
  for (let round = 0; round < schedule.rounds; round++) {
    for (const [contestant, done] of samples) {
      done.push(await takeSample(contestant, schedule, threads.get(contestant)!));
    }
  }
  return contestants.map((contestant) => {
    const { residentBytes, fileBytes } = memoryOf(contestant.server.pid);
    return { name: contestant.name, samples: samples.get(contestant)!, residentBytes, fileBytes };
  });
}

/** HEAD is answered with the redirect and is no scan: the thread that works is the one that redirects. */
async function findRedirectThread(contestant: Contestant, schedule: Schedule): Promise<number> {
  const { server, requests } = contestant;
  const before = threadNanoseconds(server.pid);
  const spec = { port: server.port, requests, connections: schedule.connections };
  await schedule.generator.run({ ...spec, method: 'HEAD', seconds: warmUpSeconds });
  const thread = busiestThread(spentSince(server.pid, before));
  await schedule.generator.run({ ...spec, method: 'GET', seconds: warmUpSeconds });
  return thread;
}

async function takeSample(
  contestant: Contestant,
  schedule: Schedule,
  thread: number,
): Promise<Sample> {
  const { name, server, requests } = contestant;
  const { connections, seconds, rate } = schedule;
  await wait(settleMs);
  const before = threadNanoseconds(server.pid);
  const load = await schedule.generator.run({
    port: server.port,
    method: 'GET',
    requests,
    connections,
    seconds,
    ...(rate === undefined ? {} : { rate }),
  });
  if (load.failed > 0) throw new Error(`${name}: ${load.failed} answers were no redirect`);
  if (load.requests === 0) throw new Error(`${name}: no answers`);
  await wait(settleMs);
  const spent = spentSince(server.pid, before);
  return {
    load,
    allMicroseconds: spent.allNanoseconds / 1e3 / load.requests,
    redirectMicroseconds: (spent.byThread.get(thread) ?? 0) / 1e3 / load.requests,
  };
}

export type Figure = (sample: Sample) => number;
export const rateOf: Figure = ({ load }) => load.requests / load.seconds;
export const allOf: Figure = ({ allMicroseconds }) => allMicroseconds;
export const redirectOf: Figure = ({ redirectMicroseconds }) => redirectMicroseconds;
const p50Of: Figure = ({ load }) => load.p50Ms;
const p99Of: Figure = ({ load }) => load.p99Ms;

export function medianOf(result: Result, figure: Figure): number {
  return median(result.samples.map(figure));
}

/** The median over the rounds of `result` to `base` in the same round. */
export function ratioOf(result: Result, base: Result, figure: Figure): number {
  return median(ratios(result, base, figure));
}

function ratioSpread(result: Result, base: Result, figure: Figure): string {
  return spread(ratios(result, base, figure));
}

function ratios(result: Result, base: Result, figure: Figure): number[] {
  return result.samples.map((sample, round) => figure(sample) / figure(base.samples[round]!));
}

/**
 * Least to least: what the two need when the machine is quiet. On a shared machine it moves less from run
 * to run than the median does.
 */
function leastRatio(result: Result, base: Result, figure: Figure): number {
  const least = ({ samples }: Result): number => Math.min(...samples.map(figure));
  return least(result) / least(base);
}

/** The table's row. */
export function resultCells(result: Result, base: Result): string[] {
  const ratio = (figure: Figure): string => ratioOf(result, base, figure).toFixed(2);
  return [
    result.name,
    medianOf(result, rateOf).toFixed(0),
    ratio(rateOf),
    medianOf(result, redirectOf).toFixed(2),
    ratio(redirectOf),
    ratioSpread(result, base, redirectOf),
    leastRatio(result, base, redirectOf).toFixed(2),
    medianOf(result, allOf).toFixed(2),
    ratio(allOf),
    leastRatio(result, base, allOf).toFixed(2),
    medianOf(result, p50Of).toFixed(2),
    medianOf(result, p99Of).toFixed(2),
    ((result.residentBytes - result.fileBytes) / 1e6).toFixed(0),
    (result.fileBytes / 1e6).toFixed(0),
  ];
}

export const resultHeadings = [
  'contestant',
  'req/s',
  'x',
  'redirect µs',
  'x',
  '(range)',
  'least x',
  'all µs',
  'x',
  'least x',
  'p50 ms',
  'p99 ms',
  'MB',
  '+ files',
];
