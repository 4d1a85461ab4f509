/** The three measurements of webhooks as tables, with their targets. */
import { formatTable, formatTarget, median, spread } from '../../report.ts';
import { Arena } from '../arena.ts';
import {
  type DeliverCost,
  type DeliverCostBounds,
  type DeliverSample,
  measureDeliverCost,
  measureFelt,
  measureScanDelay,
} from './deliver.ts';
import { openEventStage, openScanStage, type Stage } from './stage.ts';

export interface DeliverOptions {
  readonly isQuick: boolean;
  readonly rounds: number;
  readonly seconds: number;
  /** Another revision, whose deliveries are measured too. */
  readonly previous: string | undefined;
}

const ratesWhole = [2_000, 10_000];
const ratesQuick = [1_500];
/** The rate of redirects that are measured with deliveries: a fifth of what two cores do. */
const feltRate = 2_000;
/** A second of what two cores deliver. */
const deliveriesPerSample = 20_000;
/** Rounds until V8 has compiled everything in all threads: from then on a round costs what the one before it did. */
const warmUps = 8;

const least = (values: readonly number[]): number => Math.min(...values);
const cpuOf = (samples: readonly DeliverSample[]): number[] =>
  samples.map((sample) => sample.microseconds);
const rateOf = (samples: readonly DeliverSample[]): number[] =>
  samples.map((sample) => sample.rate);

export async function reportDeliver(arena: Arena, options: DeliverOptions): Promise<string> {
  const { isQuick, rounds, seconds, previous } = options;
  const events = await openEventStage(arena);
  const texts: string[] = [];
  const addDelay = async (stage: Stage): Promise<void> => {
    const rates = isQuick ? ratesQuick : ratesWhole;
    texts.push(await delayText(stage, rates, { rounds, seconds }));
  };
  try {
    const bounds = isQuick
      ? { warmUps: 0, rounds, count: 200 }
      : { warmUps, rounds, count: deliveriesPerSample };
    texts.push(await costText(events, bounds, previous));
    texts.push(await feltText(events, { rate: feltRate, rounds, seconds }));
    // What is measured has its own service; a look whether the bench works needs no second one.
    if (isQuick) {
      await events.listen('qr.scanned');
      await addDelay(events);
    }
  } finally {
    await events.close();
  }
  if (!isQuick) {
    const scans = await openScanStage(arena);
    try {
      await addDelay(scans);
    } finally {
      await scans.close();
    }
  }
  return texts.join('\n\n');
}

/** The other revision's service ends with the measurement. */
async function costText(
  events: Stage,
  bounds: DeliverCostBounds,
  previous: string | undefined,
): Promise<string> {
  if (previous === undefined) {
    return formatCost(['ours'], await measureDeliverCost([events], bounds));
  }
  const arena = new Arena();
  try {
    const other = await openEventStage(arena, { tree: arena.checkOut(previous) });
    try {
      return formatCost(['ours', previous], await measureDeliverCost([events, other], bounds));
    } finally {
      await other.close();
    }
  } finally {
    await arena.close();
  }
}

/** Ratios within a round, and the ratio of the two best: what both do when the machine is quiet. */
function formatCost(
  names: readonly string[],
  { services, bare, receiverMicroseconds, bytes }: DeliverCost,
): string {
  const cells = (name: string, samples: readonly DeliverSample[]): string[] => {
    const rates = samples.map((sample, round) => sample.rate / bare[round]!.rate);
    const cpu = samples.map((sample, round) => sample.microseconds / bare[round]!.microseconds);
    return [
      name,
      median(rateOf(samples)).toFixed(0),
      median(rates).toFixed(2),
      spread(rates),
      (Math.max(...rateOf(samples)) / Math.max(...rateOf(bare))).toFixed(2),
      median(cpuOf(samples)).toFixed(1),
      median(cpu).toFixed(2),
      spread(cpu),
      (least(cpuOf(samples)) / least(cpuOf(bare))).toFixed(2),
      median(samples.map((sample) => sample.busiestMicroseconds)).toFixed(1),
    ];
  };
  const headings = [
    `${bytes} bytes, 64 connections`,
    'a second',
    'x',
    'range',
    'best x',
    'µs',
    'x',
    'range',
    'least x',
    'busiest thread µs',
  ];
  const own = names.map((name, at) => cells(name, services[at]!));
  const table = formatTable(headings, [cells('bare undici', bare), ...own]);
  const [ours = []] = services;
  const rates = ours.map((sample, round) => sample.rate / bare[round]!.rate);
  const cpu = ours.map((sample, round) => sample.microseconds / bare[round]!.microseconds);
  const note = `receiver ${median(receiverMicroseconds).toFixed(1)} µs a request; deliveries a second by round: ${rateOf(
    ours,
  )
    .map((rate) => rate.toFixed(0))
    .join(' ')}`;
  const targets = [
    { what: 'deliveries a second, x bare', measured: median(rates), atLeast: 0.7 },
    { what: 'CPU a delivery, x bare', measured: median(cpu), atMost: 2 },
  ];
  return [table, note, ...targets.map((target) => formatTarget(target))].join('\n');
}

async function delayText(
  stage: Stage,
  rates: readonly number[],
  bounds: { readonly rounds: number; readonly seconds: number },
): Promise<string> {
  const found = await measureScanDelay(stage, rates, bounds);
  const rows: string[][] = [];
  const targets: string[] = [];
  for (const [rate, samples] of found) {
    const figures = [
      samples.map(({ p50Ms }) => p50Ms),
      samples.map(({ p99Ms }) => p99Ms),
      samples.map(({ redirectP99Ms }) => redirectP99Ms),
    ];
    const cells = figures.flatMap((ms) => [median(ms).toFixed(0), least(ms).toFixed(0)]);
    const posts = median(samples.map(({ posts }) => posts)) / bounds.seconds;
    const lists = median(samples.map(({ lists }) => lists)) / bounds.seconds;
    const service = median(samples.map(({ serviceCores }) => serviceCores));
    const receiver = median(samples.map(({ receiverCores }) => receiverCores));
    const load = [posts.toFixed(0), lists.toFixed(0), service.toFixed(2), receiver.toFixed(2)];
    rows.push([`${rate} scans/s`, ...cells, ...load]);
    const what = `redirect to receiver at ${rate}/s, p99`;
    const measured = median(figures[1]!);
    targets.push(formatTarget({ what, measured, unit: ' ms', atMost: 200 }));
  }
  const headings = [
    '',
    'p50 ms',
    'least',
    'p99 ms',
    'least',
    'redirect p99 ms',
    'least',
    'POST/s',
    'lists/s',
    'cores',
    'receiver',
  ];
  return [formatTable(headings, rows), ...targets].join('\n');
}

async function feltText(
  stage: Stage,
  bounds: { readonly rate: number; readonly rounds: number; readonly seconds: number },
): Promise<string> {
  const { idle, saturated } = await measureFelt(stage, bounds);
  const row = (name: string, felt: typeof idle): string[] => {
    const p50 = felt.map(({ p50Ms }) => p50Ms);
    const p99 = felt.map(({ p99Ms }) => p99Ms);
    const figures = [median(p50), least(p50), median(p99), least(p99)];
    return [name, ...figures.map((figure) => figure.toFixed(2))];
  };
  const headings = [`redirects at ${bounds.rate}/s`, 'p50 ms', 'least', 'p99 ms', 'least'];
  const rows = [row('no deliveries', idle), row('deliveries saturated', saturated)];
  const ratios = saturated.map((felt, sample) => felt.p99Ms / idle[sample]!.p99Ms);
  const what = 'redirect p99, saturated to idle';
  return `${formatTable(headings, rows)}\n${formatTarget({ what, measured: median(ratios), atMost: 1.1 })}`;
}
