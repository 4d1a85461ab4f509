/**
 * What grows while codes are scanned as fast as the machine can: one code, and 10,000. Caches, heaps and the bounds of
 * what stands in memory fill in the first half; the second is fitted with a line, and a leak is its slope.
 *
 * Pages of files are apart: LMDB maps its data, which grows with what is kept, and the system takes the pages back.
 */
import { formatTable, formatTarget, slopeOf } from '../../report.ts';
import { Arena } from '../arena.ts';
import { memoryOf } from '../cpu.ts';
import { fieldOf, type LoadOptions, type LoadReport, scheduleOf } from '../options.ts';
import type { LoadRequest } from '../requests.ts';
import type { Server } from '../server.ts';

const mebibyte = 2 ** 20;
const million = 1e6;
/** A line through half of fewer shows nothing. */
const samplesMin = 10;

/** How far it goes: 2 million scans, 10 million with --full. */
const boundsOf = ({ isQuick, isFull, seconds }: LoadOptions) =>
  isQuick
    ? { scans: 1_000, sliceSeconds: seconds }
    : { scans: isFull ? 10 * million : 2 * million, sliceSeconds: 5 };

interface Sample {
  /** Since the start of the load. */
  readonly scans: number;
  /** Without pages of files. */
  readonly heldBytes: number;
  readonly fileBytes: number;
}

export async function soak(options: LoadOptions): Promise<LoadReport> {
  const field = fieldOf(options);
  const loads = [
    ['one code', field.hot],
    [`${field.codes} codes`, field.uniform],
  ] as const;
  const rows: string[][] = [];
  const targets: string[] = [];
  const soaked = await (options.isQuick ? soakTogether : soakApart)(options, field.codes, loads);
  for (const [name, samples] of soaked) {
    const half = samples.slice(Math.floor(samples.length / 2));
    const grown = slopeOf(
      half.map(({ scans, heldBytes }) => [scans / million, heldBytes / mebibyte]),
    );
    const [first, last] = [samples[0]!, samples.at(-1)!];
    const highest = Math.max(...samples.map(({ heldBytes }) => heldBytes));
    const held = [first.heldBytes, highest, last.heldBytes, last.fileBytes];
    const cells = held.map((bytes) => (bytes / mebibyte).toFixed(0));
    rows.push([name, (last.scans / million).toFixed(2), ...cells, grown.toFixed(2)]);
    if (samples.length < samplesMin) continue;
    const what = `${name}, growth of the last half`;
    targets.push(formatTarget({ what, measured: grown, unit: ' MiB a million', atMost: 1 }));
  }
  const headings = ['MiB', 'million scans', 'before', 'highest', 'last', '+ files', 'a million'];
  const text = [formatTable(headings, rows), '', ...targets].join('\n');
  return { text, rows: rows.map(([name = '']) => name) };
}

type Load = readonly [name: string, requests: readonly LoadRequest[]];
type Soaked = ReadonlyMap<string, readonly Sample[]>;

/** Each load on its own service. */
async function soakApart(options: LoadOptions, codes: number, loads: readonly Load[]) {
  const soaked = new Map<string, readonly Sample[]>();
  for (const load of loads) {
    for (const [name, samples] of await soakTogether(options, codes, [load])) {
      soaked.set(name, samples);
    }
  }
  return soaked;
}

/** One load after the other on one service: a look whether the bench works needs no second one. */
async function soakTogether(
  options: LoadOptions,
  codes: number,
  loads: readonly Load[],
): Promise<Soaked> {
  const arena = new Arena();
  try {
    const { server } = await arena.service({
      codes,
      environment: { QZ_TRUSTED_PROXIES: '127.0.0.0/8' },
    });
    const soaked = new Map<string, readonly Sample[]>();
    for (const [name, requests] of loads)
      soaked.set(name, await soakWith(options, server, requests));
    server.assertRuns();
    return soaked;
  } finally {
    await arena.close();
  }
}

async function soakWith(
  options: LoadOptions,
  server: Server,
  requests: readonly LoadRequest[],
): Promise<Sample[]> {
  const { generator, connections } = scheduleOf(options);
  const bounds = boundsOf(options);
  const samples: Sample[] = [];
  const sample = (scans: number): void => {
    const { residentBytes, fileBytes } = memoryOf(server.pid);
    samples.push({ scans, heldBytes: residentBytes - fileBytes, fileBytes });
  };
  sample(0);
  for (let scans = 0; scans < bounds.scans;) {
    const spec = { port: server.port, method: 'GET', requests, connections } as const;
    const result = await generator.run({ ...spec, seconds: bounds.sliceSeconds });
    if (result.failed > 0) throw new Error(`Cannot soak: ${result.failed} requests failed`);
    scans += result.requests;
    sample(scans);
  }
  return samples;
}
