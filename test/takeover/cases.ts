/**
 * Successors that fail, processes that are stopped, and takeovers at an unusual moment, each under load: one process
 * serves afterwards, the reason is told where one gave up, and the next takeover comes to its end.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { openDataFolder } from '../../src/engine/data-folder.ts';
import { openManagement } from '../../src/store/management/management.ts';
import { pause, type Ports, type ServiceProcess } from '../support/process.ts';
import type { LoadSetting } from './load.ts';
import { isAlive, Stage, type StageResult } from './stage.ts';
import { step, TakeoverLog } from './steps.ts';

export interface CasesOptions {
  readonly dataDir: string;
  readonly ports: Ports;
  readonly perSecond: number;
  readonly seed: number;
  /** Connections that are kept. */
  readonly kept?: LoadSetting['kept'];
  /** All of them, or those with these names. */
  readonly only?: readonly string[] | undefined;
  /** When another takeover must come to its end. */
  readonly takeoverAfter: 'each' | 'all';
  readonly onCase?: (name: string, ms: number, notes: readonly string[]) => void;
}

type Case = (stage: Stage) => Promise<void>;

const endMsMax = 30_000;
const servedMsMax = 10_000;
/** A predecessor kills a successor that hangs after 30 s; a successor gives up a predecessor that hangs after 20 s. */
const hangMsMax = 45_000;
/** Less than any page of LMDB but the two meta pages, and than any journal. */
const fileBytesMax = 8_192;

export async function runCases(options: CasesOptions): Promise<StageResult> {
  const stage = await Stage.open({ ...options, codes: 50 });
  try {
    for (const [name, run] of Object.entries(cases)) {
      if (options.only !== undefined && !options.only.includes(name)) continue;
      const before = stage.notes.length;
      const startedMs = performance.now();
      await run(stage);
      if (!(await stage.serves(servedMsMax))) stage.note('nothing serves afterwards');
      if (options.takeoverAfter === 'each') await stage.takeOver();
      const notes = stage.notes.splice(before).map((note) => `${name}: ${note}`);
      stage.notes.push(...notes);
      options.onCase?.(name, performance.now() - startedMs, notes);
    }
    if (options.takeoverAfter === 'all') await stage.takeOver();
    return await stage.finish();
  } finally {
    await stage.close();
  }
}

/** A successor gives up with a reason, and the one that runs goes on. */
async function refused(
  stage: Stage,
  successor: ServiceProcess,
  reason: RegExp,
  code = 1,
): Promise<void> {
  stage.killed(successor);
  const exit = await Promise.race([successor.exit, pause(hangMsMax)]);
  if (exit === undefined) stage.note('the successor does not give up');
  else if (exit.code !== code) stage.note(`the successor ended with ${exit.code ?? exit.signal}`);
  const said = `${successor.stdout}${successor.stderr}`;
  if (!reason.test(said)) stage.note(`no ${String(reason)} in ${said.slice(-1_000)}`);
  if (!isAlive(stage.current)) stage.note('the predecessor is gone');
}

/** Whichever of these is left becomes the current process; there must be one, or `leastLeft`. */
async function oneIsLeft(
  stage: Stage,
  services: readonly ServiceProcess[],
  leastLeft = 1,
): Promise<void> {
  const deadlineMs = performance.now() + endMsMax;
  while (services.filter(isAlive).length > 1 && performance.now() < deadlineMs) await pause(10);
  const left = services.filter(isAlive);
  if (left.length < leastLeft || left.length > 1) {
    stage.note(`${left.length} processes are left`);
  }
  const [one] = left;
  stage.current = one ?? stage.start(['serve']);
}

const limitFiles = ({ pid }: ServiceProcess): void =>
  void execFileSync('prlimit', ['--pid', String(pid), `--fsize=${fileBytesMax}:`]);

/** A successor, and the step at which something happens to it or to its predecessor. */
async function successorAt(stage: Stage, name: Parameters<typeof step>[0]) {
  const predecessor = stage.current;
  const successor = stage.successor();
  const log = new TakeoverLog(predecessor, successor);
  await Promise.race([log.reaches(step(name)), pause(endMsMax)]);
  return { predecessor, successor };
}

const cases: Readonly<Record<string, Case>> = {
  async 'broken setting'(stage) {
    await refused(
      stage,
      stage.successor({ QZ_REDIRECT_THREADS: 'many' }),
      /redirect\.?threads/i,
      2,
    );
  },
  async 'port taken'(stage) {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const address = holder.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await refused(stage, stage.successor({ QZ_API_PORT: String(port) }), new RegExp(`${port}`));
    holder.close();
  },
  async 'newer data'(stage) {
    const restore = changeVersion(stage.current.dataDir);
    await refused(stage, stage.successor(), /newer|version/i);
    await restore();
  },
  async 'full disk'(stage) {
    const successor = stage.successor();
    limitFiles(successor);
    await refused(stage, successor, /space|full|EFBIG|write/i);
  },
  async 'two at once'(stage) {
    const predecessor = stage.current;
    const both = [stage.successor(), stage.successor()];
    for (const one of both) stage.killed(one);
    await oneIsLeft(stage, [predecessor, ...both]);
    const codes = await Promise.all(
      both.filter((one) => one !== stage.current).map(async ({ exit }) => (await exit).code),
    );
    if (codes.length !== 1 || codes[0] !== 1) stage.note(`two successors: ${codes.join(', ')}`);
  },
  async 'a takeover of a takeover'(stage) {
    const { predecessor, successor } = await successorAt(stage, 'yielded');
    const next = stage.successor();
    stage.killed(next);
    await oneIsLeft(stage, [predecessor, successor, next]);
  },
  async 'right after a start'(stage) {
    await stage.current.terminate();
    const first = stage.start(['serve']);
    const successor = stage.successor();
    stage.killed(first).killed(successor);
    await oneIsLeft(stage, [first, successor]);
  },
  async 'nothing runs'(stage) {
    await stage.current.terminate();
    stage.current = stage.successor();
    await stage.current.ready();
  },
  async 'predecessor killed'(stage) {
    const { predecessor, successor } = await successorAt(stage, 'yielded');
    stage.killed(predecessor).killed(successor);
    await predecessor.kill();
    stage.current = successor;
  },
  ...stops(),
  async 'successor hangs'(stage) {
    const { predecessor, successor } = await successorAt(stage, 'yielded');
    stage.killed(successor).killed(predecessor);
    successor.signal('SIGSTOP');
    const exit = await Promise.race([successor.exit, pause(hangMsMax)]);
    if (exit?.signal !== 'SIGKILL') stage.note(`a successor that hangs: ${JSON.stringify(exit)}`);
    successor.signal('SIGCONT');
    if (!isAlive(predecessor)) stage.note('the predecessor is gone');
  },
  async 'predecessor hangs'(stage) {
    const predecessor = stage.current;
    predecessor.signal('SIGSTOP');
    stage.killed(predecessor);
    const successor = stage.successor();
    await refused(stage, successor, /answer|hang|seconds|within/i);
    predecessor.signal('SIGCONT');
  },
};

/** SIGTERM of either process, at steps of the takeover. */
function stops(): Record<string, Case> {
  const steps = ['accepted', 'ready', 'yielded', 'listening'] as const;
  const entries = steps.flatMap((name) =>
    (['predecessor', 'successor'] as const).map((whose): readonly [string, Case] => [
      `SIGTERM of the ${whose}, ${name}`,
      async (stage) => {
        const both = await successorAt(stage, name);
        stage.killed(both.predecessor).killed(both.successor);
        both[whose].signal('SIGTERM');
        await both[whose].exit;
        // Once it listens the successor is the service: a signal stops that, and its predecessor may have ended.
        const isServiceStopped = whose === 'successor' && name === 'listening';
        await oneIsLeft(stage, [both.predecessor, both.successor], isServiceStopped ? 0 : 1);
      },
    ]),
  );
  return Object.fromEntries(entries);
}

/** The folder claims to be of a later release. @returns what takes that back */
function changeVersion(dataDir: string): () => Promise<void> {
  const store = openManagement(openDataFolder(dataDir).managementFile);
  const version = store.meta.get('schema');
  if (version === undefined) throw new Error('Cannot find the version of the data');
  store.environment.transactionSync(() => store.meta.put('schema', version + 1));
  return async () => {
    store.environment.transactionSync(() => store.meta.put('schema', version));
    await store.close();
  };
}
