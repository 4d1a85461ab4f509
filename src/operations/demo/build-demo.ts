/**
 * Makes a demo: the workspace of a restaurant chain, with 90 days of scans, in its own data folder. The service makes
 * all of it, so it looks like real use:
 *
 *   service, by a clock of the past   people, codes, campaigns, through the API            script.ts, content.ts
 *   no service                        the scans of all days, into a journal                traffic.ts, journal.ts
 *   service, by a clock of the past   counts the journal; then the last weeks: a campaign  script.ts
 *                                     ends, people order, webhooks are sent
 *
 * The same day gives the same codes and scans. The service listens only on this machine, on ports that the system
 * chooses. `demo.json` is written to the folder first, so that only a demo is ever overwritten.
 */
import { randomFillSync } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { AppOptions } from '../../app/app.ts';
import { type Config, loadConfig } from '../../platform/config/config.ts';
import { DataFolderError, makeFolder } from '../../app/folder/data-folder.ts';
import { openInstallation } from '../../app/folder/service-folder.ts';
import { parseJson, readIfThere, replaceFile } from '../../platform/small-files.ts';
import type { Environment } from '../../platform/config/environment.ts';
import { systemClock } from '../../platform/system-clock.ts';
import { createLog } from '../../platform/log.ts';
import { generatePassword } from '../../product/workspaces/passwords.ts';
import type { Process } from '../command.ts';
import { journalScans } from './journal.ts';
import { openReceiver, receiverNetwork } from './receiver.ts';
import * as script from './script.ts';
import { trafficOf } from './traffic.ts';

const host = '127.0.0.1';
/** While the demo is made, a refused delivery is dead after a second. */
const retryDelaysMs = [20, 20, 20, 20, 20, 20, 20];
const markFile = 'demo.json';

export interface DemoMark {
  /** Password of all its users; generated. */
  readonly password: string;
  readonly receiverPort: number;
  /** False while it is made. */
  readonly complete: boolean;
}

/**
 * @param again whether it replaces a complete one @param share of the standard size
 * @param port of its receiver, or another free one @param machine without its clocks
 * @throws DataFolderError if the folder is neither empty nor a demo
 */
export async function buildDemo(
  { environment, progress }: Pick<Process, 'environment' | 'progress'>,
  folder: string,
  again: boolean,
  share = 1,
  port = 8_082,
  machine: AppOptions['machine'] = {},
) {
  clearFolder(folder, again);
  const password = generatePassword((bytes) => randomFillSync(bytes));
  writeDemo(folder, { password, receiverPort: port, complete: false });
  const config = loadConfig(undefined, demoSettings(environment, folder, password));
  const log = createLog('error', { write: (line) => progress(line.trimEnd()) });
  const clock = new script.PastClock();
  const ids = new Map<string, string>();
  const { openApp } = await import('../../app/app.ts');
  let apiKey = '';
  const besideService = async (work: (scene: script.Scene) => Promise<void>): Promise<void> => {
    const { steady } = clock;
    const app = await openApp(whileMade(config), log, { machine: { ...machine, clock, steady } });
    try {
      apiKey = app.firstSecrets?.apiKey ?? apiKey;
      // `quietzone demo` prints the sign-in itself, each time it runs.
      app.secretsShown();
      await work({ api: script.apiAt(`http://${host}:${app.apiPort}/v1`, apiKey), clock, ids });
    } finally {
      await app.close();
    }
  };
  const receiver = await openReceiver(port);
  try {
    progress('making a workspace with its codes');
    clock.moveTo(script.beginAgo, 9);
    await besideService((scene) => script.makeWorkspace(scene, password, share));
    progress('writing 90 days of scans');
    const scans = await journalAll(config, ids, clock.today, share);
    progress('counting the scans');
    clock.moveTo(script.festivalEndAgo, 23);
    await besideService(async (scene) => {
      await script.untilCounted(scene, scans);
      progress('ending a campaign, sending webhooks');
      await script.makeLastWeeks(scene, receiver.url);
    });
    const mark = { password, receiverPort: receiver.port, complete: true };
    writeDemo(folder, mark);
    return { ...mark, scans, apiKey };
  } finally {
    await receiver.close();
  }
}

/**
 * Settings of the environment, except those that would lead out of the folder or to other machines. Does not read
 * files.
 */
export const demoSettings = (
  environment: Environment,
  folder: string,
  password?: string,
): Environment => ({
  ...environment,
  QZ_CONFIG: undefined,
  QZ_DATA_DIR: folder,
  QZ_BOOTSTRAP_EMAIL: script.owner,
  QZ_BOOTSTRAP_PASSWORD: password,
  QZ_BOOTSTRAP_PLAN: 'enterprise',
  QZ_WEBHOOKS_ALLOW_NETWORKS: receiverNetwork,
  QZ_CLUSTER_NATS: '',
});

/** Printed addresses are those of the served demo. */
function whileMade(config: Config): Config {
  const local = { host, port: 0, httpPort: 0, tlsCertFile: '', tlsKeyFile: '' };
  return {
    ...config,
    api: { ...config.api, ...local },
    redirect: { ...config.redirect, ...local, threads: 1 },
    metrics: { ...config.metrics, port: 0 },
    mail: { ...config.mail, host: '' },
    webhooks: { ...config.webhooks, retryDelaysMs },
  };
}

/** While no service runs: like scans of redirect threads that have just ended. */
async function journalAll(
  config: Config,
  ids: ReadonlyMap<string, string>,
  today: number,
  share: number,
): Promise<number> {
  const { openAdministration } = await import('../../app/administration/administration.ts');
  const { workspaceOf } = await import('../../app/administration/people-operations.ts');
  const { folder, close } = await openInstallation(config.dataDir);
  try {
    const administration = openAdministration(config, folder);
    const { no } = workspaceOf(administration.services, undefined);
    const codes = [...ids].map(([slug, id]) => [slug, administration.codes.get(no, id)] as const);
    await administration.close();
    const traffic = trafficOf(today, share);
    return await journalScans(folder, config.scans, traffic, new Map(codes), systemClock.now());
  } finally {
    await close();
  }
}

/** @returns undefined without a demo, or if the file belongs to another program */
export function readDemo(folder: string): DemoMark | undefined {
  const text = readIfThere(join(folder, markFile))?.toString('utf8') ?? '';
  const { password, receiverPort = 0, complete }: Partial<DemoMark> = Object(parseJson(text));
  const isMark = typeof password === 'string' && typeof complete === 'boolean';
  return isMark ? { password, receiverPort, complete } : undefined;
}

export const writeDemo = (folder: string, mark: DemoMark): void =>
  replaceFile(join(folder, markFile), JSON.stringify(mark));

/** Makes the folder, or empties it of a demo. */
function clearFolder(folder: string, again: boolean): void {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const found = readDemo(folder);
  if (names.length > 0 && found === undefined) {
    throw new DataFolderError(
      `Cannot make a demo in ${folder}: it has other files, expected an empty folder or a demo; name one with --dir`,
    );
  }
  if (found?.complete === true && !again) {
    throw new DataFolderError(
      `Cannot make a demo in ${folder}: it has a demo; serve it with --existing, or replace it with --again`,
    );
  }
  makeFolder(folder);
  // The mark stays: after an interrupted removal, the folder is still a demo. The next demo uses the cache.
  for (const name of names.filter((one) => one !== markFile && one !== 'cache')) {
    rmSync(join(folder, name), { recursive: true, force: true });
  }
}
