/** The loads by name: what each compares, its table, and its figures next to the targets. */
import { formatTable, formatTarget, median, quantile } from '../report.ts';
import { Arena } from './arena.ts';
import { compare, type Contestant } from './compare.ts';
import { formatBacklog, measureBacklog } from './deliver/backlog.ts';
import { formatCrowd, measureCrowd } from './deliver/crowd.ts';
import { reportDeliver } from './deliver/report.ts';
import { formatSoak, measureSoak } from './deliver/soak.ts';
import { filtered } from './filtered.ts';
import { fresh } from './fresh.ts';
import { idle } from './idle.ts';
import { imageCells, measureCachedImage } from './images.ts';
import { formatMemory, measureMemory } from './memory/memory.ts';
import {
  codesQuick,
  codesUniform,
  fieldOf,
  type LoadOptions,
  type LoadReport,
  report,
  scheduleOf,
} from './options.ts';
import { redirects } from './redirects.ts';
import { shortCodeOf, targetOf } from './seed.ts';
import { soak } from './memory/soak.ts';
import { measureStart, measureTakeovers, type Start } from './start.ts';
import { measureVisibleDelay } from './visible.ts';
import { findWrk } from './wrk.ts';
import { steps } from '../rivals/steps.ts';

const loopback = '127.0.0.0/8';

/** Both durabilities. */
async function durability(options: LoadOptions): Promise<LoadReport> {
  const arena = new Arena();
  try {
    const { codes, uniform: requests } = fieldOf(options);
    const contestants: Contestant[] = [];
    const kinds = options.isQuick ? ['process'] : ['process', 'power'];
    for (const kind of kinds) {
      const { server } = await arena.service({ codes, environment: { QZ_DURABILITY: kind } });
      contestants.push({ name: kind, server, requests });
    }
    return report('Durability:', await compare(contestants, scheduleOf(options)), []);
  } finally {
    await arena.close();
  }
}

/** Where the redirect thread's time goes: bare uWS with our steps one by one, and our redirect alone. */
async function ladder(options: LoadOptions): Promise<LoadReport> {
  const arena = new Arena();
  try {
    const { codes, uniform: requests } = fieldOf(options);
    const contestants: Contestant[] = [];
    type Script = 'ladder' | 'lone-redirect';
    const add = async (name: string, script: Script, args: readonly string[], path = '/') => {
      contestants.push({ name, server: await arena.rival(script, args, { path }), requests });
    };
    const folder = arena.folder();
    for (const step of options.isQuick ? steps.slice(-1) : steps) {
      await add(step, 'ladder', [targetOf(1), step, `${folder}/${step}`]);
    }
    const path = `/${shortCodeOf(1)}`;
    await add('our redirect alone', 'lone-redirect', [`${folder}/own`, String(codes)], path);
    const proxied = [`${folder}/proxied`, String(codes), loopback];
    await add('the same behind a proxy', 'lone-redirect', proxied, path);
    return report('Step by step:', await compare(contestants, scheduleOf(options)), []);
  } finally {
    await arena.close();
  }
}

async function visible(options: LoadOptions): Promise<LoadReport> {
  const delays = await measureVisibleDelay(options.isQuick ? 3 : 100);
  const figures = [median(delays), quantile(delays, 0.99), Math.max(...delays)];
  const cells = figures.map((figure) => figure.toFixed(0));
  const table = formatTable(['', 'p50 ms', 'p99 ms', 'max ms'], [['answer to count', ...cells]]);
  const worst = { what: 'counts visible, max', measured: figures[2]!, unit: ' ms', atMost: 400 };
  return { text: `${table}\n\n${formatTarget(worst)}`, rows: ['answer to count'] };
}

async function start(options: LoadOptions): Promise<LoadReport> {
  const sizes = options.isQuick ? [1_000] : options.isFull ? [1_000_000, 10_000_000] : [1_000_000];
  const rows: string[][] = [];
  const targets: string[] = [];
  for (const codes of sizes) {
    const { bytesPerCode, starts } = await measureStart(codes, options.isQuick ? 1 : 3);
    const at = `at ${codes} codes`;
    rows.push([`${codes} codes`, ...startCells(starts), bytesPerCode.toFixed(1)]);
    // Below a million the table's smallest size, not its codes, is what it takes.
    if (codes >= 1_000_000) {
      const measured = median(starts.map(({ seconds }) => seconds));
      const atMost = codes > 1_000_000 ? 15 : 2;
      targets.push(
        formatTarget({ what: `start ${at}`, measured, unit: ' s', atMost }),
        formatTarget({ what: `link table ${at}`, measured: bytesPerCode, unit: ' B', atMost: 150 }),
      );
    }
  }
  const headings = ['', 'start s', '(range)', 'CPU s', 'MB', '+ files', 'B a code'];
  const text = `${formatTable(headings, rows)}\n\n${targets.join('\n')}`;
  return { text, rows: rows.map(([name = '']) => name) };
}

function startCells(starts: readonly Start[]): string[] {
  const seconds = starts.map((start) => start.seconds);
  const range = [Math.min(...seconds), Math.max(...seconds)].map((s) => s.toFixed(2)).join(' to ');
  const cpuSeconds = median(starts.map((start) => start.cpuSeconds));
  const files = median(starts.map(({ fileBytes }) => fileBytes));
  const own = median(starts.map(({ residentBytes, fileBytes }) => residentBytes - fileBytes));
  const megabytes = [own, files].map((bytes) => (bytes / 1e6).toFixed(0));
  return [median(seconds).toFixed(2), range, cpuSeconds.toFixed(2), ...megabytes];
}

async function takeover({ isQuick, rounds }: LoadOptions): Promise<LoadReport> {
  const sizes = isQuick ? [1_000] : [1_000, 100_000, 1_000_000];
  const rows: string[][] = [];
  for (const codes of sizes) {
    const { apiMs, redirectMs } = await measureTakeovers(codes, rounds);
    const cells = [apiMs, redirectMs].flatMap((pauses) => [
      median(pauses).toFixed(0),
      `${Math.min(...pauses).toFixed(0)} to ${Math.max(...pauses).toFixed(0)}`,
    ]);
    rows.push([`${codes} codes`, ...cells]);
  }
  const headings = ['', 'API pause ms', '(range)', 'redirects ms', '(range)'];
  return { text: formatTable(headings, rows), rows: rows.map(([name = '']) => name) };
}

/** Only with wrk: see images.ts. */
async function images(options: LoadOptions): Promise<LoadReport> {
  const generator = findWrk();
  if (generator === undefined) return { text: 'wrk is not installed', rows: [] };
  const arena = new Arena();
  try {
    const { rounds, seconds } = options;
    const result = await measureCachedImage(arena, { generator, rounds, seconds });
    const headings = ['', 'x rate of uWS', '(range)', 'µs', 'uWS µs'];
    const table = formatTable(headings, [imageCells(result)]);
    return { text: table, rows: ['cached image'] };
  } finally {
    await arena.close();
  }
}

/** Webhooks: cost against bare POSTs, a scan's way to its receiver, what redirects feel. */
async function deliver(options: LoadOptions): Promise<LoadReport> {
  const arena = new Arena();
  try {
    return { text: await reportDeliver(arena, options), rows: ['cost', 'delay', 'felt'] };
  } finally {
    await arena.close();
  }
}

/** The same on this revision and on the other one, where it is asked for, each in its own arena. */
async function onRevisions(
  { previous }: LoadOptions,
  measure: (arena: Arena, setting: { readonly tree?: string }) => Promise<string>,
): Promise<string> {
  const texts: string[] = [];
  for (const revision of previous === undefined ? [undefined] : [undefined, previous]) {
    const arena = new Arena();
    try {
      const setting = revision === undefined ? {} : { tree: arena.checkOut(revision) };
      const text = await measure(arena, setting);
      texts.push(revision === undefined ? text : `${revision}:\n${text}`);
    } finally {
      await arena.close();
    }
  }
  return texts.join('\n\n');
}

/** Endpoints of which a tenth hang: what the others feel, and what becomes of those. */
async function deliverCrowd(options: LoadOptions): Promise<LoadReport> {
  const bounds = options.isQuick
    ? { endpoints: 20, rounds: 2, everyMs: 100, deadlineMs: 1_000, retryDelayMs: 200 }
    : { endpoints: 1_000, rounds: 5, everyMs: 1_000, deadlineMs: 15_000, retryDelayMs: 5_000 };
  const text = await onRevisions(options, async (arena, setting) => {
    const whole = { ...bounds, hangEvery: 10, ...setting };
    return formatCrowd(await measureCrowd(arena, whole), whole);
  });
  return { text, rows: ['crowd'] };
}

/** An endpoint that hangs with a million events: what others feel; with --full all are taken in the end. */
async function deliverBacklog(options: LoadOptions): Promise<LoadReport> {
  const { isQuick, isFull } = options;
  const bounds = isQuick
    ? { count: 10_000, rounds: 10, everyMs: 20, deadlineMs: 500, retryDelayMs: 2_000 }
    : { count: 1_000_000, rounds: 100, everyMs: 50, deadlineMs: 15_000, retryDelayMs: 15_000 };
  const text = await onRevisions(options, async (arena, setting) => {
    const whole = { ...bounds, isTaken: isQuick || isFull, ...setting };
    return formatBacklog(await measureBacklog(arena, whole), whole);
  });
  return { text, rows: ['backlog'] };
}

/** What grows while deliveries never pause; ten minutes with --full. */
async function deliverSoak(options: LoadOptions): Promise<LoadReport> {
  const seconds = options.isQuick ? 1 : options.isFull ? 600 : 20;
  const text = await onRevisions(options, async (arena, setting) =>
    formatSoak(await measureSoak(arena, { rate: 2_000, seconds, ...setting })),
  );
  return { text, rows: ['soak'] };
}

/** The least memory, in the limit of a container: five minutes, or ten with --full. */
async function memory({ isQuick, isFull }: LoadOptions): Promise<LoadReport> {
  const arena = new Arena();
  const bounds = isQuick
    ? { codes: codesQuick, rate: 100, seconds: 1 }
    : { codes: codesUniform, rate: 500, seconds: isFull ? 600 : 300 };
  try {
    return { text: formatMemory(await measureMemory(arena, bounds)), rows: ['memory'] };
  } finally {
    await arena.close();
  }
}

export const loads: Readonly<Record<string, (options: LoadOptions) => Promise<LoadReport>>> = {
  redirects,
  fresh,
  filtered,
  idle,
  durability,
  ladder,
  visible,
  start,
  takeover,
  soak,
  'cached-image': images,
  deliver,
  'deliver-crowd': deliverCrowd,
  'deliver-backlog': deliverBacklog,
  'deliver-soak': deliverSoak,
  memory,
};
