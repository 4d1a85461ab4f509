/**
 * Nothing happens: what the service takes while nobody asks for anything, and how soon it redirects.
 *
 *   start ─▶ first redirect ─▶ settled ─▶ measured: CPU and wake-ups of each thread ─▶ memory
 *
 * A burst afterwards shows which thread redirects. Every round starts each contestant again on its own folder, one after
 * the other. The first start, which makes what a folder has but once, is not measured.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../../src/platform/system-clock.ts';
import { formatTable, formatTarget, median } from '../report.ts';
import { Arena, type Service } from './arena.ts';
import { findRedirectThread } from './compare.ts';
import { type Memory, memoryOf, threadsOf } from './cpu.ts';
import { fieldOf, type LoadOptions, type LoadReport, scheduleOf } from './options.ts';

const bounds = { codes: 100_000, settleMs: 10_000, measuredMs: 30_000 };
const boundsQuick = { codes: 200, settleMs: 1_000, measuredMs: 1_000 };

/** In each second. */
interface Activity {
  /** 100 is one core. */
  readonly percent: number;
  readonly wakeUps: number;
}

interface Sample extends Memory {
  readonly readyMs: number;
  /** Of each kind of thread. */
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
  for (const [tid, { nanoseconds, sleeps, ...thread }] of after) {
    const then = before.get(tid) ?? { nanoseconds: 0, sleeps: 0 };
    const kind = tid === redirect ? 'redirect' : thread.kind;
    const { percent, wakeUps } = byKind.get(kind) ?? { percent: 0, wakeUps: 0 };
    byKind.set(kind, {
      percent: percent + (nanoseconds - then.nanoseconds) / 1e7 / seconds,
      wakeUps: wakeUps + (sleeps - then.sleeps) / seconds,
    });
  }
  return { ...memory, readyMs, byKind };
}

type Figure = (sample: Sample) => number;
const readyOf: Figure = ({ readyMs }) => readyMs;
const allOf =
  (name: keyof Activity): Figure =>
  ({ byKind }) =>
    [...byKind.values()].reduce((sum, activity) => sum + activity[name], 0);
const percentOf = allOf('percent');
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
    range(samples, allOf('wakeUps'), 0),
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
  const memoryMax = process.env['QUIETZONE_COMMAND'] === undefined ? 220 : 180;
  return (
    [
      ['idle memory', megabytesOf, ' MB', memoryMax],
      ['idle CPU', percentOf, ' %', 0.5],
      ['start', readyOf, ' ms', 1_000],
    ] as const
  ).map(([what, figure, unit, atMost]) =>
    formatTarget({ what, measured: median(samples.map(figure)), unit, atMost }),
  );
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
