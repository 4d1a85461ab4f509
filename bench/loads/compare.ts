/**
 * The comparison: every contestant in every round, one after the other, so that whatever else the
 * machine does meets them all. A ratio is taken within a round, against the base's sample in that round;
 * what is reported is the median of the rounds.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { median, spread } from '../report.ts';
import { busiestThread, spentSince, threadNanoseconds, threadsOf } from './cpu.ts';
import type { Generator, LoadResult, LoadSpec } from './load.ts';
import type { LoadRequest } from './requests.ts';
import type { Server } from './server.ts';

/** A shard counts what was answered within a window of 120 ms and saves it within seconds. */
const settleMs = 400;
/** Or as long as what is measured, if that is less. */
const warmUpSecondsMax = 1;

export interface Contestant {
  readonly name: string;
  readonly server: Server;
  readonly requests: readonly LoadRequest[];
}

export interface Sample {
  readonly load: LoadResult;
  readonly allMicroseconds: number;
  /** Of the threads of each kind. */
  readonly microseconds: ReadonlyMap<string, number>;
}

export interface Result {
  readonly name: string;
  readonly samples: readonly Sample[];
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
    await schedule.generator.run({ ...loadOf(contestant, schedule), seconds: warmUpOf(schedule) });
  }
  for (let round = 0; round < schedule.rounds; round++) {
    for (const [contestant, done] of samples) {
      done.push(await takeSample(contestant, schedule, threads.get(contestant)!));
    }
  }
  return [...samples].map(([{ name }, done]) => ({ name, samples: done }));
}

/** HEAD is answered with the redirect and is no scan: the thread that works is the one that redirects. */
export async function findRedirectThread(
  contestant: Contestant,
  schedule: Pick<Schedule, 'generator' | 'connections' | 'seconds'>,
): Promise<number> {
  const { pid } = contestant.server;
  const before = threadNanoseconds(pid);
  const burst = { ...loadOf(contestant, schedule), seconds: warmUpOf(schedule) };
  await schedule.generator.run({ ...burst, method: 'HEAD' });
  return busiestThread(spentSince(pid, before));
}

const warmUpOf = ({ seconds }: Pick<Schedule, 'seconds'>): number =>
  Math.min(warmUpSecondsMax, seconds);

function loadOf(
  { server, requests }: Contestant,
  { connections }: Pick<Schedule, 'connections'>,
): Omit<LoadSpec, 'seconds'> {
  return { port: server.port, method: 'GET', requests, connections };
}

async function takeSample(
  contestant: Contestant,
  schedule: Schedule,
  thread: number,
): Promise<Sample> {
  const { name, server } = contestant;
  const { seconds, rate } = schedule;
  await wait(settleMs);
  const before = threadNanoseconds(server.pid);
  const load = await schedule.generator.run({
    ...loadOf(contestant, schedule),
    seconds,
    ...(rate === undefined ? {} : { rate }),
  });
  if (load.failed > 0) throw new Error(`${name}: ${load.failed} answers were no redirect`);
  if (load.requests === 0) throw new Error(`${name}: no answers`);
  await wait(settleMs);
  const microseconds = new Map<string, number>();
  let allMicroseconds = 0;
  for (const [tid, { kind, nanoseconds }] of threadsOf(server.pid, thread)) {
    const spent = (nanoseconds - (before.get(tid) ?? 0)) / 1e3 / load.requests;
    microseconds.set(kind, (microseconds.get(kind) ?? 0) + spent);
    allMicroseconds += spent;
  }
  return { load, allMicroseconds, microseconds };
}

export type Figure = (sample: Sample) => number;
export const rateOf: Figure = ({ load }) => load.requests / load.seconds;
const allOf: Figure = ({ allMicroseconds }) => allMicroseconds;
export const redirectOf: Figure = ({ microseconds }) => microseconds.get('redirect') ?? 0;
export const shardsOf: Figure = ({ microseconds }) => microseconds.get('shards') ?? 0;
export const othersOf: Figure = (sample) => allOf(sample) - redirectOf(sample);
const p50Of: Figure = ({ load }) => load.p50Ms;
const p99Of: Figure = ({ load }) => load.p99Ms;

export function medianOf(result: Result, figure: Figure): number {
  return median(result.samples.map(figure));
}

/** The median over the rounds of `result` to `base` in the same round. */
export function ratioOf(result: Result, base: Result, figure: Figure): number {
  return median(
    result.samples.map((sample, round) => figure(sample) / figure(base.samples[round]!)),
  );
}

/** The median over the rounds of `result` less `base` in the same round. */
export function differenceOf(result: Result, base: Result, figure: Figure): number {
  return median(differences(result, base, figure));
}

function differences(result: Result, base: Result, figure: Figure): number[] {
  return result.samples.map((sample, round) => figure(sample) - figure(base.samples[round]!));
}

/** The CPU of a request by kind of thread, most first. */
export function formatThreads({ name, samples }: Result): string {
  const kinds = new Set(samples.flatMap(({ microseconds }) => [...microseconds.keys()]));
  const shares = [...kinds]
    .map((kind) => ({ kind, cost: median(samples.map((one) => one.microseconds.get(kind) ?? 0)) }))
    .toSorted((a, b) => b.cost - a.cost)
    .map(({ kind, cost }) => `${kind} ${cost.toFixed(2)}`);
  return `${name}, µs by thread: ${shares.join(', ')}`;
}

/** The table's row. */
export function resultCells(result: Result, base: Result): string[] {
  const costs = [redirectOf, allOf].flatMap((figure) => {
    const measured = medianOf(result, figure).toFixed(2);
    if (result === base) return [measured, '', '', ''];
    const above = differenceOf(result, base, figure).toFixed(2);
    const range = `(${spread(differences(result, base, figure))})`;
    return [measured, above, range, ratioOf(result, base, figure).toFixed(2)];
  });
  const shards = medianOf(result, shardsOf);
  return [
    result.name,
    medianOf(result, rateOf).toFixed(0),
    ...costs,
    shards === 0 ? '' : shards.toFixed(2),
    medianOf(result, p50Of).toFixed(2),
    medianOf(result, p99Of).toFixed(2),
  ];
}

export const resultHeadings = [
  'contestant',
  'req/s',
  'redirect µs',
  'above',
  '(range)',
  'x',
  'all µs',
  'above',
  '(range)',
  'x',
  'shards µs',
  'p50 ms',
  'p99 ms',
];
