/**
 * Nothing happens: what the service takes while nobody asks for anything, and how soon it redirects.
 *
 *   start ─▶ first redirect ─▶ settled ─▶ measured: CPU and wake-ups of each thread ─▶ memory
 *
 * A burst afterwards tells which thread redirects. Every round starts each contestant anew on its own folder, one after the other. The first start, which makes what
 * a folder has but once, is not measured.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../../src/system-clock.ts';
import { formatTable, formatTarget, median } from '../report.ts';
import { Arena, type Service } from './arena.ts';
import { findRedirectThread } from './compare.ts';
import { type Memory, memoryOf, type Thread, threadsOf } from './cpu.ts';
import { fieldOf, type LoadOptions, type LoadReport, scheduleOf } from './options.ts';

const bounds = { codes: 100_000, settleMs: 10_000, measuredMs: 30_000 };
const boundsQuick = { codes: 200, settleMs: 1_000, measuredMs: 1_000 };

interface Activity {
  /** 100 is one core. */
  readonly percent: number;
  readonly wakeUps: number;
}

interface Sample extends Memory {
  readonly readyMs: number;
  /** A second, of the whole process and of each kind of its threads. */
  readonly all: Activity;
  readonly byKind: ReadonlyMap<string, Activity>;
}

interface Contestant {
  readonly name: string;
  service: Service;
  readonly samples: Sample[];
}

export async function idle(options: LoadOptions): Promise<LoadReport> {
  const { codes, ...pauses } = options.isQuick ? boundsQuick : bounds;
  const arena = new Arena();
  try {
    const contestants: Contestant[] = [];
    for (const revision of options.previous === undefined ? [''] : ['', options.previous]) {
      const setting = revision === '' ? {} : { tree: arena.checkOut(revision) };
      const service = await arena.service({ codes, ...setting });
      await service.server.stop();
      contestants.push({ name: revision || 'ours', service, samples: [] });
    }
    for (let round = 0; round < options.rounds; round++) {
      for (const contestant of contestants) {
        contestant.service = await contestant.service.restart();
        contestant.samples.push(await takeSample(contestant, pauses, options));
        await contestant.service.server.stop();
      }
    }
    return reportIdle(contestants);
  } finally {
    await arena.close();
  }
}

async function takeSample(
  { name, service: { server } }: Contestant,
  { settleMs, measuredMs }: Omit<typeof bounds, 'codes'>,
  options: LoadOptions,
): Promise<Sample> {
  const { pid, readyMs } = server;
  await wait(settleMs);
  const startedMs = systemClock.monotonicMs();
  const before = threadsOf(pid, 0);
  await wait(measuredMs);
  const after = threadsOf(pid, 0);
  const seconds = (systemClock.monotonicMs() - startedMs) / 1e3;
  const memory = memoryOf(pid);
  server.assertRuns();
  const contestant = { name, server, requests: fieldOf({ ...options, isQuick: true }).uniform };
  const redirect = await findRedirectThread(contestant, scheduleOf(options));
  const byKind = new Map<string, Activity>();
  const idleThread: Activity = { percent: 0, wakeUps: 0 };
  let all = idleThread;
  for (const [tid, thread] of after) {
    const spent = activityOf(thread, before.get(tid), seconds);
    const kind = tid === redirect ? 'redirect' : thread.kind;
    byKind.set(kind, sumOf(byKind.get(kind) ?? idleThread, spent));
    all = sumOf(all, spent);
  }
  return { ...memory, readyMs, all, byKind };
}

function activityOf(now: Thread, before: Thread | undefined, seconds: number): Activity {
  return {
    percent: (now.nanoseconds - (before?.nanoseconds ?? 0)) / 1e7 / seconds,
    wakeUps: (now.sleeps - (before?.sleeps ?? 0)) / seconds,
  };
}

const sumOf = (a: Activity, b: Activity): Activity => ({
  percent: a.percent + b.percent,
  wakeUps: a.wakeUps + b.wakeUps,
});

type Figure = (sample: Sample) => number;
const readyOf: Figure = ({ readyMs }) => readyMs;
const percentOf: Figure = ({ all }) => all.percent;
const wakeUpsOf: Figure = ({ all }) => all.wakeUps;
const megabytesOf: Figure = ({ residentBytes }) => residentBytes / 1e6;

const headings = [
  'median (least-most)',
  'start ms',
  'CPU % of a core',
  'wake-ups/s',
  'MB',
  'anonymous',
  'files',
  'shared',
];

function reportIdle(contestants: readonly Contestant[]): LoadReport {
  const rows = contestants.map(({ name, samples }) => [
    name,
    range(samples, readyOf, 0),
    range(samples, percentOf, 2),
    range(samples, wakeUpsOf, 0),
    range(samples, megabytesOf, 0),
    range(samples, ({ anonymousBytes }) => anonymousBytes / 1e6, 0),
    range(samples, ({ fileBytes }) => fileBytes / 1e6, 0),
    range(samples, ({ sharedBytes }) => sharedBytes / 1e6, 0),
  ]);
  const threads = contestants.map(({ name, samples }) => `${name}: ${busiest(samples)}`);
  const { samples } = contestants[0]!;
  const text = [formatTable(headings, rows), '', ...threads, '', ...targetsOf(samples)].join('\n');
  return { text, rows: contestants.map(({ name }) => name) };
}

function targetsOf(samples: readonly Sample[]): string[] {
  const memory = process.env['QUIETZONE_COMMAND'] === undefined ? 220 : 180;
  return [
    {
      what: 'idle memory',
      measured: median(samples.map(megabytesOf)),
      unit: ' MB',
      atMost: memory,
    },
    { what: 'idle CPU', measured: median(samples.map(percentOf)), unit: ' %', atMost: 0.5 },
    { what: 'start', measured: median(samples.map(readyOf)), unit: ' ms', atMost: 1_000 },
  ].map((target) => formatTarget(target));
}

function range(samples: readonly Sample[], figure: Figure, digits: number): string {
  const figures = samples.map(figure);
  const [middle, least, most] = [median(figures), Math.min(...figures), Math.max(...figures)].map(
    (value) => value.toFixed(digits),
  );
  return `${middle} (${least}-${most})`;
}

/** The kinds of threads by their share of a core, most first. */
function busiest(samples: readonly Sample[]): string {
  const kinds = new Set(samples.flatMap(({ byKind }) => [...byKind.keys()]));
  return [...kinds]
    .map((kind) => {
      const figureOf = (name: keyof Activity): number =>
        median(samples.map(({ byKind }) => byKind.get(kind)?.[name] ?? 0));
      return { kind, percent: figureOf('percent'), wakeUps: figureOf('wakeUps') };
    })
    .toSorted((a, b) => b.percent - a.percent)
    .map(({ kind, percent, wakeUps }) => `${kind} ${percent.toFixed(2)} % ${wakeUps.toFixed(0)}/s`)
    .join(', ');
}
