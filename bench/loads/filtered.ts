/**
 * What redirects feel of queries over raw scans: how long they take at a steady rate, alone and next to a query thread that has
 * one query after the other, in rotation. The thread is that of another process, over a store that nothing else reads: it
 * shares the machine's cores and memory with the service, and nothing else.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openScanStore } from '../../src/store/scans/scans.ts';
import { fillRawScans } from '../raw-scans.ts';
import { formatTable, formatTarget, median, quantile, spread } from '../report.ts';
import { Arena } from './arena.ts';
import { fieldOf, type LoadOptions, type LoadReport } from './options.ts';
import { pace, type Pace } from './pacer.ts';

/** Far below what makes anything wait by itself. */
const rate = 2_000;
const connections = 64;
const script = fileURLToPath(new URL('../rivals/raw-queries.ts', import.meta.url));

interface Sample {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

async function sample(load: Pace): Promise<Sample> {
  const { latenciesMs } = await pace(load);
  return { p50Ms: median(latenciesMs), p99Ms: quantile(latenciesMs, 0.99) };
}

/** @returns the sample, and how many queries were answered meanwhile */
async function sampleBeside(path: string, load: Pace): Promise<[sample: Sample, answered: number]> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  let said = '';
  const running = new Promise<void>((resolve) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
      resolve();
    });
  });
  await Promise.race([running, ended]);
  const taken = await sample(load);
  child.stdin.end();
  await ended;
  const [first, answered] = said.trim().split('\n');
  if (first !== 'running') throw new Error('The queries have ended');
  return [taken, Number(answered)];
}

export async function filtered(options: LoadOptions): Promise<LoadReport> {
  const arena = new Arena();
  try {
    const path = join(arena.folder(), 'scans.mdb');
    const store = openScanStore(path, 'create');
    fillRawScans(store, options.isQuick ? 20_000 : 5_000_000, 100);
    await store.environment.close();
    const { codes, uniform: requests } = fieldOf(options);
    const { server } = await arena.service({ codes });
    const { seconds, rounds } = options;
    const load: Pace = { port: server.port, requests, connections, rate, seconds };
    await pace(load);
    const [alone, beside]: [Sample[], Sample[]] = [[], []];
    let queries = 0;
    for (let round = 0; round < rounds; round++) {
      alone.push(await sample(load));
      const [taken, answered] = await sampleBeside(path, load);
      beside.push(taken);
      queries += answered;
    }
    return reportOf(alone, beside, queries);
  } finally {
    await arena.close();
  }
}

function reportOf(alone: Sample[], beside: Sample[], queries: number): LoadReport {
  const rows = Object.entries({ alone, 'beside queries': beside });
  const cells = rows.map(([name, samples]) => {
    const p50s = samples.map(({ p50Ms }) => p50Ms);
    const p99s = samples.map(({ p99Ms }) => p99Ms);
    return [name, median(p50s).toFixed(2), median(p99s).toFixed(2), spread(p99s)];
  });
  const ratios = beside.map(({ p99Ms }, round) => p99Ms / alone[round]!.p99Ms);
  const what = 'redirect p99 beside queries, x alone';
  const target = formatTarget({ what, measured: median(ratios), atMost: 1.1 });
  const table = formatTable(['', 'p50 ms', 'p99 ms', '(range)'], cells);
  const text = `${table}\n\n${queries} queries answered, ratio ${spread(ratios)}\n${target}`;
  return { text, rows: rows.map(([name]) => name) };
}
