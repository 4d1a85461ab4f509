/**
 * Makes a demo: the workspace of a chain of restaurants, with 90 days of scans, in a data folder of its own. All of it is made
 * by the service itself, so it is what it would be had it happened:
 *
 *   service, by a clock of the past   people, codes, campaigns, through the API              workspace.ts
 *   no service                        the scans of all days, into a journal                  traffic.ts, outcome.ts, journal.ts
 *   service, by a clock of the past   shards count the journal; then the last days:          recent-days.ts
 *                                     a campaign ends, webhooks, scans by the short links
 *
 * The same seed and the same day give the same codes and scans; keys, ids, passwords, which visitor meets which variant of a
 * split, and the error of estimates are of chance. It listens on this machine alone, on ports that the system chooses.
 */
import { randomFillSync } from 'node:crypto';
import type { AppOptions } from '../../app.ts';
import { type Config, loadConfig } from '../../config.ts';
import type { DataFolder } from '../../engine/data-folder.ts';
import type { Environment } from '../../environment.ts';
import { openInstallation } from '../../engine/installation/service-folder.ts';
import type { Clock } from '../../model/clock.ts';
import { Agents } from '../../scans/visitor/agents.ts';
import type { Logger } from '../../telemetry/log.ts';
import { generatePassword } from '../../workspaces/passwords.ts';
import { workspaceOf } from '../command.ts';
import { DemoDays } from './demo-days.ts';
import { clearFolder, type DemoMark, writeDemo } from './demo-folder.ts';
import type { DemoProgress } from './demo-progress.ts';
import { type DemoServiceOptions, withService } from './demo-service.ts';
import { demoSettings } from './demo-settings.ts';
import { type Journaled, journalScans } from './journal.ts';
import { MovedClock } from './moved-clock.ts';
import { DemoCode } from './outcome.ts';
import { makeRecentDays, recentMs } from './recent-days.ts';
import { openReceiver, type Receiver } from './receiver.ts';
import { Traffic } from './traffic.ts';
import { beginMs, type MadeWorkspace, makeWorkspace, owner } from './workspace.ts';

export interface DemoOptions {
  readonly folder: string;
  /** What to do with a demo that is there. */
  readonly over: 'refuse' | 'make anew';
  readonly environment: Environment;
  /** The machine's. */
  readonly clock: Clock;
  readonly log: Logger;
  readonly progress: DemoProgress;
  readonly seed?: number;
  readonly days?: number;
  /** About so many, of all days. */
  readonly scans?: number;
  /** The next best where it is taken. */
  readonly receiverPort: number;
  /** What the service takes from the machine, but for its clocks. */
  readonly machine?: AppOptions['machine'];
}

export interface MadeDemo extends Journaled, DemoMark {
  /** Of the owner. */
  readonly apiKey: string;
  readonly codes: number;
}

const standardSeed = 1;
const standardDays = 90;
const standardScans = 240_000;
const codesExpected = 60;

/** @throws DataFolderError where the folder is not one for a demo */
export async function buildDemo(options: DemoOptions): Promise<MadeDemo> {
  const { over, receiverPort, seed = standardSeed, progress } = options;
  const folder = clearFolder(options.folder, over);
  const password = generatePassword((bytes) => randomFillSync(bytes));
  const mark = { seed, email: owner, password, receiverPort, complete: false };
  writeDemo(folder, mark);
  const receiver = await openReceiver(receiverPort);
  try {
    const made = await buildIn(folder, { ...options, seed, password, receiver });
    const complete = { ...mark, receiverPort: receiver.port, complete: true };
    writeDemo(folder, complete);
    return { ...complete, ...made };
  } finally {
    progress.stop();
    await receiver.close();
  }
}

interface Building extends DemoOptions {
  readonly seed: number;
  readonly password: string;
  readonly receiver: Receiver;
}

async function buildIn(
  folder: string,
  { environment, password, seed, receiver, progress, ...options }: Building,
): Promise<Omit<MadeDemo, keyof DemoMark>> {
  const config = loadConfig(undefined, demoSettings({ environment, folder, password }));
  const days = new DemoDays(options.days ?? standardDays, options.clock.now());
  const clock = new MovedClock(options.clock, beginMs(days));
  const service: DemoServiceOptions = { ...options, config, clock };
  const scans = options.scans ?? standardScans;
  const share = scans / standardScans;
  progress.begin('codes');
  const { made, apiKey } = await withService(service, undefined, async ({ api }, key) => {
    const onCodes = (codes: number): void => progress.show(codes / codesExpected);
    return {
      apiKey: key,
      made: await makeWorkspace({ api, clock, days, password, share, onCodes }),
    };
  });
  progress.begin('scans');
  const journaled = await journalAll({ ...options, config, progress, seed, days, scans, made });
  progress.begin('counting');
  clock.moveTo(recentMs(days));
  const history = { clock, days, seed, ids: made.ids, receiver, journaled: journaled.scans };
  const live = await withService(service, apiKey, (running) =>
    makeRecentDays({ ...history, service: running, progress }),
  );
  const codes = made.ids.size;
  return { ...journaled, scans: journaled.scans + live, apiKey, codes };
}

interface Journaling extends Pick<DemoOptions, 'progress'> {
  readonly config: Config;
  readonly clock: Clock;
  readonly days: DemoDays;
  readonly seed: number;
  readonly scans: number;
  readonly made: MadeWorkspace;
}

/** Where no service runs: as the scans of redirect threads that have just ended. */
async function journalAll({ config, progress, made, ...traffic }: Journaling): Promise<Journaled> {
  const { folder, close } = await openInstallation(config.dataDir);
  try {
    const codes = await findCodes(config, folder, made);
    return await journalScans({
      folder,
      settings: config.scans,
      traffic: new Traffic({ ...traffic, printed: made.printed }),
      days: traffic.days,
      untilMs: traffic.clock.now(),
      codes,
      onDay: (done) => progress.show(done / traffic.days.count),
    });
  } finally {
    await close();
  }
}

/** Those that can be scanned, by the slug of their print. */
async function findCodes(
  config: Config,
  folder: DataFolder,
  { ids }: MadeWorkspace,
): Promise<ReadonlyMap<string, DemoCode>> {
  const { openAdministration } = await import('../../app.ts');
  const administration = openAdministration(config, folder);
  try {
    const { no } = workspaceOf(administration.services, undefined);
    const agents = new Agents();
    const codes = [...ids].map(([slug, id]) => [slug, administration.codes.get(no, id)] as const);
    return new Map(
      codes
        .filter(([, { dynamic }]) => dynamic)
        .map(([slug, code]) => [slug, new DemoCode(code, agents)]),
    );
  } finally {
    await administration.close();
  }
}
