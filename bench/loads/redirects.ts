/** The whole service in its two ordinary places against its rivals, then all at one fixed rate. */
import { arch, cpus, release } from 'node:os';
import { systemClock } from '../../src/platform/system-clock.ts';
import type { Bar, Chart } from '../chart.ts';
import { formatTarget } from '../report.ts';
import { Arena } from './arena.ts';
import { autocannonGenerator } from './autocannon.ts';
import {
  compare,
  type Contestant,
  differenceOf,
  formatThreads,
  medianOf,
  othersOf,
  rateOf,
  ratioOf,
  redirectOf,
  type Result,
  type Schedule,
  shardsOf,
} from './compare.ts';
import { fieldOf, type LoadOptions, type LoadReport, report, scheduleOf } from './options.ts';
import type { LoadRequest } from './requests.ts';
import { typicalRouting } from './routed.ts';
import { targetOf } from './seed.ts';

const loopback = '127.0.0.0/8';
async function rivals(arena: Arena, requests: readonly LoadRequest[]): Promise<Contestant[]> {
  const nodeHttp = await arena.rival('node-http', [targetOf(1)]);
  const nginx = await arena.nginx();
  return [
    { name: 'node:http', server: nodeHttp, requests },
    ...(nginx === undefined ? [] : [{ name: 'nginx, access log', server: nginx, requests }]),
  ];
}

export async function redirects(options: LoadOptions): Promise<LoadReport> {
  const arena = new Arena();
  try {
    const { codes, uniform, hot } = fieldOf(options);
    const { server: direct } = await arena.service({ codes });
    const environment = { QZ_TRUSTED_PROXIES: loopback };
    const { server: proxied } = await arena.service({ codes, environment });
    const routed = { codes, environment, routing: typicalRouting };
    const { server: ruled } = await arena.service(routed);
    const contestants: Contestant[] = [
      { name: 'bare uWS', server: await arena.rival('uws', [targetOf(1)]), requests: uniform },
      { name: 'ours, socket', server: direct, requests: uniform },
      { name: 'ours, behind a proxy', server: proxied, requests: uniform },
      { name: 'ours, one hot code', server: direct, requests: hot },
      { name: 'ours, routed, behind a proxy', server: ruled, requests: uniform },
      ...(await rivals(arena, uniform)),
    ];
    if (options.previous !== undefined) {
      const tree = arena.checkOut(options.previous);
      for (const [place, setting] of [
        ['socket', { codes, tree }],
        ['behind a proxy', { codes, tree, environment }],
      ] as const) {
        const { server } = await arena.service(setting);
        contestants.push({ name: `${options.previous}, ${place}`, server, requests: uniform });
      }
    }
    const schedule = scheduleOf(options);
    const results = await compare(contestants, schedule);
    const name = schedule.generator.name;
    const chart = chartOf(results, schedule);
    const fast = report(`As fast as ${name} asks:`, results, figuresOf(results));
    if (options.isQuick) return { ...fast, chart };
    const rate = Math.floor(Math.min(...results.map((result) => medianOf(result, rateOf))) / 2);
    const steady = await compare(contestants, {
      ...schedule,
      generator: autocannonGenerator,
      rate,
    });
    const title = `At ${rate} requests/s each, by autocannon:`;
    return { ...fast, chart, text: `${fast.text}\n\n${report(title, steady, []).text}` };
  } finally {
    await arena.close();
  }
}

const barNames: Readonly<Record<string, string>> = {
  'bare uWS': 'bare uWebSockets.js',
  'ours, socket': 'Quietzone',
  'ours, behind a proxy': 'Quietzone, behind a proxy',
  'nginx, access log': 'nginx, access log',
  'node:http': 'node:http',
};

/** The medians of those that stand for a kind of server, in that order. */
function chartOf(results: readonly Result[], { generator, rounds }: Schedule): Chart {
  const bars = Object.entries(barNames).flatMap(([name, label]): Bar[] => {
    const result = results.find((one) => one.name === name);
    if (result === undefined) return [];
    const [redirect, others] = [medianOf(result, redirectOf), medianOf(result, othersOf)];
    return [{ name: label, isOurs: name.startsWith('ours'), redirect, others }];
  });
  const [day] = new Date(systemClock.now()).toISOString().split('T');
  const machine = `${cpus().length} × ${cpus()[0]?.model ?? arch()}`;
  const versions = `Linux ${release().split('.', 2).join('.')}, Node.js ${process.versions.node}`;
  const bare = bars[0]!.redirect.toFixed(1);
  return {
    bars,
    caption: [
      `10,000 codes, asked by ${generator.name}; the others answer a constant and count nothing. Medians of ${rounds} rounds.`,
      `${day}, ${machine}, ${versions}: bare uWebSockets.js ${bare} µs.`,
    ],
  };
}

/** By threads, then next to the targets. */
function figuresOf(results: readonly Result[]): string[] {
  const [bare, direct, proxied, hot, routed] = results as [Result, Result, Result, Result, Result];
  const above = (result: Result): number => differenceOf(result, bare, redirectOf);
  const targets = [
    ['redirect thread above bare, socket', above(direct), 3],
    ['redirect thread above bare, proxy', above(proxied), 2.2],
    [
      'redirect thread, a routed code above a plain one',
      differenceOf(routed, proxied, redirectOf),
      4,
    ],
    ['shards, a scan behind a proxy', medianOf(proxied, shardsOf), 3],
    ['all but the redirect thread, a scan behind a proxy', medianOf(proxied, othersOf), 3],
  ] as const;
  const rate = { measured: ratioOf(hot, direct, rateOf), atLeast: 0.95 };
  return [
    ...[direct, proxied].map(formatThreads),
    '',
    ...targets.map(([what, measured, atMost]) =>
      formatTarget({ what, measured, unit: ' µs', atMost }),
    ),
    formatTarget({ what: 'hot code to uniform, rate', ...rate }),
  ];
}
