/**
 * The least memory: the service in a container's limit, from its start through 500 scans/s with a webhook endpoint, while
 * people use the dashboard, the reference and the API, draw images of every kind, and run a command meanwhile. The
 * generator and the receiver are outside of the limit.
 *
 * `held` is memory that cannot be taken back: anonymous and shared pages of the service and its children, every 100 ms.
 * Above the limit the system kills; pages of files are taken back before that.
 */
import { spawnSync } from 'node:child_process';
import { memoryBytesMin } from '../../../src/app/machine/machine-plan.ts';
import { systemClock } from '../../../src/platform/system-clock.ts';
import { formatTable, formatTarget, quantile } from '../../report.ts';
import type { Arena } from '../arena.ts';
import { memoryOf } from '../cpu.ts';
import { openScanStage, type Stage } from '../deliver/stage.ts';
import { type GroupFigures, MemoryGroup } from './memory-group.ts';
import { pace } from '../pacer.ts';
import { createRequests, requestCount } from '../requests.ts';
import { pathsOf } from '../seed.ts';

const connections = 64;
const password = 'as long as it is not guessed';
/** Rows of a bulk request, and how often one comes. */
const rows = 5_000;
const bulkEvery = 12;
const sampleMs = 100;
/** One load after the other, and people between them. */
const sliceSeconds = 5;
const pollMs = 50;
const lateMsMax = 20_000;
const mebibyte = 2 ** 20;
const main = new URL('../../../config/start.mjs', import.meta.url).pathname;
const styles = [
  undefined,
  { gradient: { from: '#102040', to: '#801020', type: 'radial' }, dotStyle: 'dots' },
  { dotStyle: 'rounded', eyeStyle: 'circle', errorCorrection: 'H' },
];

export interface MemoryBounds {
  readonly codes: number;
  readonly rate: number;
  readonly seconds: number;
}

export interface MemoryResult {
  /** Undefined where no control group can be made: then nothing was limited. */
  readonly group: GroupFigures | undefined;
  /** The most that was held before the service was ready; 0 without a group. */
  readonly startBytes: number;
  readonly heldBytes: { readonly idle: number; readonly highest: number; readonly last: number };
  readonly scans: number;
  readonly received: number;
  readonly redirectP99Ms: number;
  readonly images: number;
  /** The most memory that the command next to the service took, and its exit code. */
  readonly command: { readonly bytes: number; readonly status: number | null };
}

export async function measureMemory(arena: Arena, bounds: MemoryBounds): Promise<MemoryResult> {
  const group = MemoryGroup.open(memoryBytesMin);
  let startBytes = 0;
  const sample = (): void => {
    startBytes = Math.max(startBytes, group?.figures().processBytes ?? 0);
  };
  const starting = setInterval(sample, sampleMs);
  try {
    const stage = await openScanStage(arena, {
      codes: bounds.codes,
      processes: group?.processes,
      environment: { QZ_TRUSTED_PROXIES: '127.0.0.0/8', QZ_BOOTSTRAP_PASSWORD: password },
    });
    clearInterval(starting);
    try {
      return { ...(await use(stage, bounds, group)), startBytes };
    } catch (error) {
      const killed = group?.figures().killed ?? 0;
      throw killed > 0 ? new Error('the system killed the service', { cause: error }) : error;
    } finally {
      await stage.close();
      await arena.close();
    }
  } finally {
    clearInterval(starting);
    await group?.close();
  }
}

async function use(
  stage: Stage,
  { codes, rate, seconds }: MemoryBounds,
  group: MemoryGroup | undefined,
): Promise<Omit<MemoryResult, 'startBytes'>> {
  const { service, receiver } = stage;
  const { pid, port } = service.server;
  const held = (): number => {
    const { residentBytes, fileBytes } = memoryOf(pid);
    return residentBytes - fileBytes;
  };
  const idle = held();
  let highest = idle;
  const timer = setInterval(() => (highest = Math.max(highest, held())), sampleMs);
  try {
    const requests = createRequests('q.example', pathsOf(codes), requestCount);
    const people = new People(stage);
    const latenciesMs: number[] = [];
    let [scans, received] = [0, 0];
    const slice = Math.min(sliceSeconds, seconds);
    const startedMs = systemClock.monotonicMs();
    while (systemClock.monotonicMs() - startedMs < seconds * 1e3) {
      const load = { port, requests, connections, rate, seconds: slice };
      const [paced] = await Promise.all([pace(load), people.visit()]);
      scans += paced.sent;
      latenciesMs.push(...paced.latenciesMs);
      received += (await receiver.take()).latenciesMs.length;
    }
    const command = listKeys(service.dataDir);
    for (let waitedMs = 0; received < scans && waitedMs < lateMsMax; waitedMs += pollMs) {
      await new Promise((resolve) => setTimeout(resolve, pollMs));
      received += (await receiver.take()).latenciesMs.length;
    }
    const redirectP99Ms = quantile(latenciesMs, 0.99);
    const heldBytes = { idle, highest, last: held() };
    const { images } = people;
    return { group: group?.figures(), heldBytes, scans, received, redirectP99Ms, images, command };
  } finally {
    clearInterval(timer);
  }
}

/** Opens the pages that people open, and draws. @throws Error for an answer other than success */
class People {
  readonly #stage: Stage;
  #visits = 0;
  images = 0;

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  async visit(): Promise<void> {
    const { service, key } = this.#stage;
    const visit = this.#visits++;
    const base = `http://127.0.0.1:${service.apiPort}`;
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const get = async (path: string, init: RequestInit = { headers }): Promise<string> => {
      const answer = await fetch(new URL(path, base), init);
      const body = await answer.text();
      if (!answer.ok) throw new Error(`Wrong answer to ${path}: ${answer.status} ${body}`);
      return body;
    };
    // One owner, and three who guess: wrong ones are slowed down with 429 at last.
    await Promise.all([0, 1, 2, 3].map((guess) => this.#signIn(base, guess)));
    const page = await get('/', { headers: { accept: 'text/html' } });
    for (const [asset] of page.matchAll(/\/assets\/[\w.-]+/g)) await get(asset);
    for (const path of ['/docs', '/v1/openapi.json', '/v1/webhooks']) await get(path);
    if (visit % bulkEvery === 0) {
      const target = (row: number): string => `https://shop.example/${visit}/${row}`;
      const body = JSON.stringify(
        Array.from({ length: rows }, (_, row) => ({ target: target(row) })),
      );
      await get('/v1/qr-codes/bulk', { method: 'POST', headers, body });
    }
    await get('/v1/qr-codes?limit=100');
    await get('/v1/qr-codes?search=spring');
    const design = styles[visit % styles.length];
    const body = JSON.stringify({ target: `https://shop.example/${visit}`, design });
    const { id }: { readonly id: string } = JSON.parse(
      await get('/v1/qr-codes', { method: 'POST', headers, body }),
    );
    await get(`/v1/qr-codes/${id}/analytics`);
    for (const image of ['png?size=2048', 'svg', 'pdf', 'eps', 'webp?size=1024']) {
      await get(`/i/${id}.${image}`);
      this.images++;
    }
  }

  async #signIn(base: string, guess: number): Promise<void> {
    const headers = { 'content-type': 'application/json', origin: base };
    const email = guess === 0 ? 'owner@localhost.localdomain' : `guess${guess}@shop.example`;
    const body = JSON.stringify({ email, password });
    const { status } = await fetch(`${base}/v1/auth/sign-in`, { method: 'POST', headers, body });
    const expected = guess === 0 ? [200, 429] : [401, 429];
    if (!expected.includes(status)) throw new Error(`Wrong answer to a sign-in: ${status}`);
  }
}

/** `quietzone keys list` next to the service, outside of its limit. */
function listKeys(dataDir: string): MemoryResult['command'] {
  const script = `process.on('exit', () => process.stderr.write('took ' + process.resourceUsage().maxRSS + ' kB'))`;
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--import', `data:text/javascript,${encodeURIComponent(script)}`, main, 'keys', 'list'],
    { env: { ...process.env, QZ_DATA_DIR: dataDir }, encoding: 'utf8' },
  );
  return { bytes: Number(/took (\d+) kB/.exec(stderr)?.[1] ?? 0) * 1_024, status };
}

export function formatMemory(result: MemoryResult): string {
  const { group, heldBytes, scans, received, command } = result;
  const megabytes = (bytes: number): string => (bytes / mebibyte).toFixed(0);
  const { idle, highest, last } = heldBytes;
  const table = formatTable(
    ['MiB', 'starting', 'ready', 'highest', 'at the end'],
    [
      [
        'held by the service',
        megabytes(result.startBytes),
        megabytes(idle),
        megabytes(highest),
        megabytes(last),
      ],
    ],
  );
  const lines = [
    `${scans} scans, ${received} received by webhook, ${result.images} images drawn`,
    `redirects p99 ${result.redirectP99Ms.toFixed(1)} ms; keys list beside it: exit ${command.status}, ${megabytes(command.bytes)} MiB`,
    group === undefined
      ? 'no control group can be made here: nothing was limited'
      : `limit ${megabytes(memoryBytesMin)} MiB: at most ${megabytes(group.highestBytes)} charged, met ${group.limitMet} times, ${group.killed} killed`,
  ];
  const target = {
    what: 'held at most',
    measured: Math.max(result.startBytes, highest) / mebibyte,
    unit: ' MiB',
    atMost: memoryBytesMin / mebibyte,
  };
  return [table, '', ...lines, '', formatTarget(target)].join('\n');
}
