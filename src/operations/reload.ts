/**
 * `quietzone reload` replaces the running service's process without a gap: for `ExecReload=` of the systemd unit, and
 * for scripts. It starts `serve --takeover --ready-on 3` and ends when that process serves, which sends a byte on
 * descriptor 3; the reason for a failure is on standard error.
 *
 * The successor is in the unit's control group, so systemd adopts it and finds its number in service.pid. It has its
 * own session, so a key or the end of a terminal does not stop it. It gets the final environment
 * (app/machine/allocator.ts), because a process that replaces itself loses descriptor 3.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { readNodeFile } from '../cluster/nodes/node-file.ts';
import { messageOf } from '../model/failure.ts';
import { type DataFolder, dataFolderAt } from '../app/folder/data-folder.ts';
import { leanEnvironment, programArguments } from '../app/machine/allocator.ts';
import { measureResources } from '../app/machine/machine-plan.ts';
import { folderOwner } from '../app/folder/folder-lock.ts';
import { type CommonOptions, configOf, type Process } from './command.ts';

/** The successor's end of the pipe: it writes a byte there when it serves. */
const readyDescriptor = 3;
/** The cause that ends the new process, such as too little memory, may end the old one a moment later. */
const settleMs = 1_000;
/** New processes that may die after the old one has yielded; it redirects meanwhile. */
const attemptsMax = 3;

export interface ReloadOptions extends CommonOptions {
  /** Seconds. The default, 60, is below the 90 that the unit gives a reload; a start with ten million codes takes a few. */
  readonly timeout: number;
}

const nodeRefusal =
  'Cannot reload: this is a cluster node; restart it, while the other nodes serve';

type Outcome =
  | { readonly state: 'serves' }
  | { readonly state: 'late' }
  | { readonly state: 'ended'; readonly how: string };

/** @returns why no process has taken over; undefined = one has @throws ConfigError */
export async function reload(
  context: Process,
  options: ReloadOptions,
): Promise<string | undefined> {
  const { dataDir, cluster } = configOf(context, options);
  const folder = dataFolderAt(resolve(dataDir));
  if (cluster.nats.length > 0 || readNodeFile(folder.path) !== undefined) return nodeRefusal;
  // The settings may now name another folder; a service there would be a second one.
  if ((await folderOwner(folder)) === undefined) {
    return `Cannot reload: no service runs on data folder ${folder.path}, expected one: start or restart it`;
  }
  const late = pause(options.timeout * 1_000, { state: 'late' } as const, { ref: false });
  for (let attempt = 1; ; attempt++) {
    const successor = startSuccessor(context, options);
    const outcome = await Promise.race<Outcome>([readinessOf(successor), endOf(successor), late]);
    if (outcome.state === 'serves') {
      context.result(`Reloaded: process ${successor.pid} has taken over`);
      leave(successor);
      return undefined;
    }
    if (outcome.state === 'late') {
      successor.kill('SIGKILL');
      const seconds = options.timeout;
      return `Cannot reload: the new process did not serve within ${seconds} s and was killed, ${await remainderOf(folder)}`;
    }
    const remainder = await remainderOf(folder);
    if (remainder !== remainders.yielded || attempt === attemptsMax) {
      return `Cannot reload: the new process ${outcome.how}, ${remainder}`;
    }
    context.progress(`The new process ${outcome.how}; starting another one`);
  }
}

/** By the state of the old process. */
const remainders = {
  running: 'the running service continues',
  busy: 'the service is starting or stopping',
  yielded: 'the old process redirects for up to 60 s: start the service',
  none: 'no service runs now: start it',
} as const;

async function remainderOf(folder: DataFolder): Promise<string> {
  await pause(settleMs);
  return remainders[(await folderOwner(folder)) ?? 'none'];
}

function startSuccessor({ environment }: Process, { config }: CommonOptions): ChildProcess {
  const words = ['serve', '--takeover', '--ready-on', String(readyDescriptor)];
  if (config !== undefined) words.push('--config', config);
  const lean = leanEnvironment(environment, measureResources()) ?? environment;
  return spawn(process.execPath, programArguments(words), {
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
    // npx ends with this command and would stop its children (config/quietzone.mjs).
    env: { ...lean, npm_lifecycle_event: undefined },
  });
}

async function readinessOf({ stdio }: ChildProcess): Promise<Outcome> {
  const pipe = stdio[readyDescriptor];
  if (pipe instanceof Readable) await once(pipe, 'data');
  return { state: 'serves' };
}

async function endOf(successor: ChildProcess): Promise<Outcome> {
  try {
    const [code, signal] = await once(successor, 'exit');
    const how =
      signal === null ? `ended with exit code ${code} (reason above)` : `was ended by ${signal}`;
    return { state: 'ended', how };
  } catch (error) {
    const reason = messageOf(error);
    return { state: 'ended', how: `could not be started (${reason})` };
  }
}

/** Lets this process end before the successor does. */
function leave(successor: ChildProcess): void {
  successor.stdio[readyDescriptor]?.destroy();
  successor.unref();
}
