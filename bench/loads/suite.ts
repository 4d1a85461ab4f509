/** The loads by name: what each compares, its table, and its figures beside the targets. */
import { formatTable, formatTarget, median, quantile } from '../report.ts';
import { Arena } from './arena.ts';
import { autocannonGenerator } from './autocannon.ts';
import {
  allOf,
  compare,
  type Contestant,
  medianOf,
  rateOf,
  ratioOf,
  redirectOf,
  type Result,
  resultCells,
  resultHeadings,
} from './compare.ts';
import { formatBacklog, measureBacklog } from './deliver/backlog.ts';
import { formatCrowd, measureCrowd } from './deliver/crowd.ts';
import { reportDeliver } from './deliver/report.ts';
import { formatSoak, measureSoak } from './deliver/soak.ts';
import { imageCells, measureCachedImage } from './images.ts';
import { createRequests, type LoadRequest, requestCount } from './requests.ts';
import { pathsOf, shortCodeOf, targetOf } from './seed.ts';
import { formatMemory, measureMemory } from './memory.ts';
import { measureStart } from './start.ts';
import { measureVisibleDelay } from './visible.ts';
import { findWrk } from './wrk.ts';
import { steps } from '../rivals/steps.ts';

export interface LoadOptions {
  readonly isQuick: boolean;
  readonly isFull: boolean;
  readonly rounds: number;
  readonly seconds: number;
  readonly previous: string | undefined;
}

export interface LoadReport {
  readonly text: string;
  /** Contestants or measurements, by name: for the test that keeps the bench alive. */
  readonly rows: readonly string[];
}

const host = 'q.example';
const loopback = '127.0.0.0/8';
/** As wrk's documentation does, a few dozen connections a thread: batches form in every event-loop cycle. */
const connections = 64;
const connectionsQuick = 8;
const codesUniform = 10_000;
const codesQuick = 200;

interface Field {
  readonly codes: number;
  readonly uniform: readonly LoadRequest[];
  readonly hot: readonly LoadRequest[];
}

function fieldOf(options: LoadOptions): Field {
  const codes = options.isQuick ? codesQuick : codesUniform;
  const count = options.isQuick ? codesQuick : requestCount;
  return {
    codes,
    uniform: createRequests(host, pathsOf(codes), count),
    hot: createRequests(host, [`/${shortCodeOf(7)}`], count),
  };
}

const scheduleOf = (options: LoadOptions) => ({
  generator: findWrk() ?? autocannonGenerator,
  rounds: options.rounds,
  seconds: options.seconds,
  connections: options.isQuick ? connectionsQuick : connections,
});

function report(title: string, results: readonly Result[], targets: readonly string[]): LoadReport {
  const base = results[0]!;
  const table = formatTable(
    resultHeadings,
    results.map((result) => resultCells(result, base)),
  );
  const rows = results.map(({ name }) => name);
  return { text: [title, '', table, '', ...targets].join('\n'), rows };
}

async function rivals(arena: Arena, requests: readonly LoadRequest[]): Promise<Contestant[]> {
  const nodeHttp = await arena.rival('node-http', [targetOf(1)]);
  const nginx = await arena.nginx();
  return [
    { name: 'node:http', server: nodeHttp, requests },
    ...(nginx === undefined ? [] : [{ name: 'nginx, access log', server: nginx, requests }]),
  ];
}

/** The whole service in its two ordinary places against its rivals, then all at one fixed rate. */
async function redirects(options: LoadOptions): Promise<LoadReport> {
  const arena = new Arena();
  try {
    const { codes, uniform, hot } = fieldOf(options);
    const { server: direct } = await arena.service({ codes });
    const environment = {
      QZ_TRUSTED_PROXIES: loopback,
      QZ_TRUSTED_PROXY_HEADER: 'x-forwarded-for',
    };
    const { server: proxied } = await arena.service({ codes, environment });
    const contestants: Contestant[] = [
      { name: 'bare uWS', server: await arena.rival('uws', [targetOf(1)]), requests: uniform },
      { name: 'ours, socket', server: direct, requests: uniform },
      { name: 'ours, behind a proxy', server: proxied, requests: uniform },
      { name: 'ours, one hot code', server: direct, requests: hot },
      ...(await rivals(arena, uniform)),
    ];
    if (options.previous !== undefined) {
      const tree = arena.checkOut(options.previous);
      const { server } = await arena.service({ codes, tree });
      contestants.push({ name: `${options.previous}, socket`, server, requests: uniform });
    }
    const schedule = scheduleOf(options);
    const results = await compare(contestants, schedule);
    const name = schedule.generator.name;
    const fast = report(`As fast as ${name} asks:`, results, redirectTargets(results));
    if (options.isQuick) return fast;
    const rate = Math.floor(Math.min(...results.map((result) => medianOf(result, rateOf))) / 2);
    const steady = await compare(contestants, {
      ...schedule,
      generator: autocannonGenerator,
      rate,
    });
    const title = `At ${rate} requests/s each, by autocannon:`;
    return { ...fast, text: `${fast.text}\n\n${report(title, steady, []).text}` };
  } finally {
    await arena.close();
  }
}

function redirectTargets(results: readonly Result[]): string[] {
  const [bare, direct, proxied, hot] = results as [Result, Result, Result, Result];
  return [
    { what: 'redirect thread, socket', measured: ratioOf(direct, bare, redirectOf), atMost: 1.35 },
    { what: 'redirect thread, proxy', measured: ratioOf(proxied, bare, redirectOf), atMost: 1.2 },
    { what: 'all threads, socket', measured: ratioOf(direct, bare, allOf), atMost: 1.8 },
    { what: 'all threads, proxy', measured: ratioOf(proxied, bare, allOf), atMost: 1.8 },
    { what: 'hot code to uniform, rate', measured: ratioOf(hot, direct, rateOf), atLeast: 0.95 },
  ].map((target) => formatTarget(target));
}

/** The three durabilities. */
async function durability(options: LoadOptions): Promise<LoadReport> {
  const arena = new Arena();
  try {
    const { codes, uniform: requests } = fieldOf(options);
    const contestants: Contestant[] = [];
    const kinds = options.isQuick ? ['process'] : ['process', 'relaxed', 'power'];
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
      contestants.push({ name, server: await arena.rival(script, args, path), requests });
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
    const result = await measureStart(codes);
    const { readySeconds, bytesPerCode, residentBytes, fileBytes } = result;
    const megabytes = [residentBytes - fileBytes, fileBytes].map((b) => (b / 1e6).toFixed(0));
    const seconds = [readySeconds, result.cpuSeconds].map((s) => s.toFixed(2));
    const figures = [...seconds, bytesPerCode.toFixed(1), ...megabytes];
    rows.push([`${codes} codes`, ...figures, result.seedSeconds.toFixed(1)]);
    const at = `at ${codes} codes`;
    targets.push(
      formatTarget({ what: `start ${at}`, measured: readySeconds, unit: ' s', atMost: 15 }),
    );
    // Below a million the table's smallest size, not its codes, is what it takes.
    if (codes >= 1_000_000) {
      targets.push(
        formatTarget({ what: `link table ${at}`, measured: bytesPerCode, unit: ' B', atMost: 150 }),
      );
    }
  }
  const headings = ['', 'start s', 'CPU s', 'B a code', 'MB', '+ files', 'seeding s'];
  const text = `${formatTable(headings, rows)}\n\n${targets.join('\n')}`;
  return { text, rows: rows.map(([name = '']) => name) };
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
    const rate = { what: 'cached image, x bare uWS', measured: median(result.rates), atLeast: 0.9 };
    return { text: `${table}\n\n${formatTarget(rate)}`, rows: ['cached image'] };
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

/** The same on this revision and on the other one, where it is asked for, each in an arena of its own. */
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
  durability,
  ladder,
  visible,
  start,
  'cached-image': images,
  deliver,
  'deliver-crowd': deliverCrowd,
  'deliver-backlog': deliverBacklog,
  'deliver-soak': deliverSoak,
  memory,
};
