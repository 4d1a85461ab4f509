/**
 * A crash run: the real service under load, killed at random moments, started again on the same data
 * folder, and at the end compared with the ledger.
 *
 *   round   start -> ready -> `kill -9`, either somewhere in the start or somewhere later
 *   end     start -> every pending write answered -> every short link asked once -> SIGTERM -> compare
 *
 * Each start draws its own number of threads, window and segment size, so that recovery also meets
 * journals and shards that were cut differently before.
 */
import { pause } from '../../support/process.ts';
import { milliseconds, type Row, spread } from '../report.ts';
import { drawSettings, Site, type SiteOptions, type SiteResult } from '../site.ts';

export interface CrashOptions extends SiteOptions {
  readonly rounds: number;
  readonly durability: 'process' | 'power';
  /** Longest load of a round after the service is ready. */
  readonly loadMsMax: number;
  readonly perSecond: number;
  /** How often and how late events come again is judged too: for a machine that does nothing else. */
  readonly isTimed: boolean;
}

interface Round {
  readonly killed: 'starting' | 'running';
  /** From the start of the process until it was ready; absent when killed before. */
  readonly readyMs: number | undefined;
}

const connections = 48;
/** Kills that hit a starting service: recovery, catching up, loading links. */
const startingShare = 0.3;
/** No kill of a running service comes before so many scans and writes of the run were answered. */
const answeredMin = { scans: 100, writes: 5 };
/** At least once: an attempt that was in flight at a kill is made again. A share of few events says nothing. */
const duplicatesShareMax = 0.01;
const eventsMin = 20_000;

export async function runCrashes(options: CrashOptions): Promise<SiteResult> {
  const { perSecond, durability } = options;
  const site = await Site.open(options, { phones: { 'the service': { connections, perSecond } } });
  const settings = (): Record<string, string> => ({
    QZ_DURABILITY: durability,
    ...drawSettings(site.random),
  });
  try {
    const rounds: Round[] = [];
    for (let number = 1; number <= options.rounds; number++) {
      rounds.push(await runRound(site, options, number, rounds, settings()));
    }
    const service = site.start(settings());
    await service.ready();
    const result = await site.finish(service);
    // A start after a kill has nothing to complain about, but for a torn tail.
    site.checkLogs(/torn tail/);
    if (options.isTimed) judgeRepeats(result);
    return { ...result, rows: [...rowsOfRounds(rounds), ...result.rows] };
  } finally {
    await site.close();
  }
}

async function runRound(
  site: Site,
  { loadMsMax }: CrashOptions,
  number: number,
  before: readonly Round[],
  settings: Record<string, string>,
): Promise<Round> {
  const { random, ledger } = site;
  const killed = number > 1 && random.chance(startingShare) ? 'starting' : 'running';
  const waitMs = random.between(0, loadMsMax);
  const usualReadyMs = before.findLast(({ readyMs }) => readyMs !== undefined)?.readyMs ?? 0;
  const startMs = random.next() * usualReadyMs * 1.2;
  const service = site.start(settings);
  const startedMs = performance.now();
  let readyMs: number | undefined;
  const ready = service.ready().then((ms) => (readyMs = ms));
  if (killed === 'starting') {
    ready.catch(() => undefined);
    await Promise.race([pause(startMs), service.exit]);
  } else {
    await ready;
    await site.isUnderWay(answeredMin.scans, answeredMin.writes, service);
    await pause(waitMs);
  }
  const killedMs = performance.now() - startedMs;
  await site.kill(service);
  await ready.catch(() => undefined);
  ledger.tell(
    `round ${number}: killed ${killed} after ${milliseconds(killedMs)}, ready ${milliseconds(readyMs)}, ` +
      `${ledger.scans.length} scans and ${ledger.acknowledged} writes so far, ${ledger.faultCount} faults`,
  );
  return { killed, readyMs };
}

function judgeRepeats({ ledger, receipts }: SiteResult): void {
  const { duplicated = 0, committed = 0, late = 0 } = receipts ?? {};
  const share = duplicated / Math.max(1, committed);
  if (committed > eventsMin && share > duplicatesShareMax)
    ledger.note(`${(share * 100).toFixed(2)} % of events came again`);
  if (late > 0) ledger.note(`${late} events came again that were settled a second before a kill`);
}

function rowsOfRounds(rounds: readonly Round[]): Row[] {
  const starting = rounds.filter(({ killed }) => killed === 'starting').length;
  const times = rounds.map(({ readyMs }) => readyMs).filter((ms) => ms !== undefined);
  return [
    ['kills', `${rounds.length}, ${starting} of them while starting`],
    ['start to ready', spread(times)],
  ];
}
