/**
 * Takeovers of which a process is killed, stopped or hangs, under load. Kills (`kill -9`): every second one comes within
 * milliseconds of a step in the log, each step in its order; the others at any moment of the time that a takeover takes.
 * Cases: SIGTERM at steps, processes that hang, takeovers at an unusual moment.
 *
 *   ended                          what serves afterwards                            within
 *   successor before `ready`       the predecessor, as before                        2 s
 *   successor after it             another start; the predecessor redirects until it  a start and 2 s
 *   predecessor                    the successor alone                               2 s, while it boots a start and 2 s
 *
 * This script is the supervisor. After each fault exactly one process serves, and another takeover completes. No scan that
 * was answered is lost; a scan in flight may be counted.
 */
import { pause, type ServiceProcess } from '../../support/process.ts';
import { milliseconds } from '../report.ts';
import { drawSettings, isAlive, type SiteResult } from '../site.ts';
import {
  type Role,
  type StepName,
  stepNames,
  type Takeover,
  type TakeoverOptions,
  Takeovers,
} from './takeovers.ts';

const servedMsMax = { SIGKILL: 2_000, SIGTERM: 10_000 };
/** A service that does not serve for so long does not come back. */
const waitMsMax = 40_000;
const delayMsMax = 5;
const steadyMsMax = 400;
/** The old process only redirects meanwhile. */
const hangMs = 2_000;

export async function runKills(options: TakeoverOptions, kills: number): Promise<SiteResult> {
  return await Takeovers.run(options, async (takeovers) => {
    const { random, ledger } = takeovers.site;
    // How long a takeover takes on this machine.
    const usualMs = await takeovers.takeOver();
    for (let number = 1; number <= kills; number++) {
      await pause(random.between(0, steadyMsMax));
      const takeover = takeovers.begin(drawSettings(random));
      const victim = random.pick<Role>(['predecessor', 'successor']);
      ledger.tell(`kill ${number}: ${await momentOf(takeovers, number, takeover, usualMs)}`);
      await end(takeovers, takeover, victim, 'SIGKILL', usualMs);
      await takeovers.takeOver(drawSettings(random));
    }
  });
}

export async function runCases(options: TakeoverOptions): Promise<SiteResult> {
  return await Takeovers.run(options, async (takeovers) => {
    const { site } = takeovers;
    const usualMs = await takeovers.takeOver();
    for (const step of ['accepted', 'ready', 'yielded', 'listening'] as const) {
      for (const victim of ['predecessor', 'successor'] as const) {
        const takeover = takeovers.begin();
        await reach(takeover, step);
        await end(takeovers, takeover, victim, 'SIGTERM', usualMs);
        await takeovers.takeOver();
      }
    }
    for (const [name, run] of Object.entries(cases)) {
      site.ledger.tell(name);
      await run(takeovers);
      if (!(await site.servesWithin(waitMsMax))) site.ledger.note(`${name}: nothing serves`);
      await takeovers.takeOver();
    }
  });
}

const cases: Readonly<Record<string, (takeovers: Takeovers) => Promise<void>>> = {
  async 'two successors at once'(takeovers) {
    const predecessor = takeovers.current;
    const successors = [takeovers.begin().successor, takeovers.begin().successor];
    await expectOneLeft(takeovers, [predecessor, ...successors]);
    const ended = successors.filter((one) => one !== takeovers.current);
    const codes = await Promise.all(ended.map(async ({ exit }) => (await exit).code));
    if (codes.join() !== '1') takeovers.site.ledger.note(`successors ended with ${codes.join()}`);
  },
  async 'predecessor still starting'(takeovers) {
    await takeovers.current.terminate();
    takeovers.current = takeovers.site.start();
    const { predecessor, successor } = takeovers.begin();
    await expectOneLeft(takeovers, [predecessor, successor]);
  },
  async 'successor hangs'(takeovers) {
    const { site } = takeovers;
    const takeover = takeovers.begin();
    await reach(takeover, 'yielded');
    takeover.successor.signal('SIGSTOP');
    await pause(hangMs);
    if (!(await site.redirects())) site.ledger.note('no redirect while a successor hangs');
    await site.kill(takeover.successor);
    takeovers.current = site.start();
    await takeover.predecessor.exit;
  },
};

/** One of these processes must be left; it becomes the current one. */
async function expectOneLeft(
  takeovers: Takeovers,
  processes: readonly ServiceProcess[],
): Promise<void> {
  const deadlineMs = performance.now() + waitMsMax;
  while (processes.filter(isAlive).length > 1 && performance.now() < deadlineMs) await pause(10);
  const left = processes.filter(isAlive);
  if (left.length !== 1) takeovers.site.ledger.note(`${left.length} processes are left`);
  takeovers.current = left[0] ?? takeovers.site.start();
}

/** Ends one of the two processes. Afterwards one serves in time: the other, or another start. */
async function end(
  takeovers: Takeovers,
  takeover: Takeover,
  victim: Role,
  signal: 'SIGKILL' | 'SIGTERM',
  usualMs: number,
): Promise<void> {
  const { site } = takeovers;
  const { predecessor, successor, last } = takeover;
  const name = `${signal} of the ${victim} after ${last}`;
  let endedMs = performance.now();
  if (signal === 'SIGKILL') await site.kill(takeover[victim]);
  else endedMs += (await takeover[victim].terminate()).ms;
  if (victim === 'successor') await takeover.noticesDeath();
  const hasYielded = !isAlive(predecessor) || takeover.hasReached('ready');
  const survivor =
    victim === 'successor' && hasYielded ? 'none' : await survivorOf(takeovers, victim, takeover);
  if (victim === 'successor' && takeover.hasReached('listening')) await predecessor.exit;
  takeovers.current = survivor === 'none' ? site.start() : takeover[survivor];
  const serves = await site.servesWithin(waitMsMax);
  const servedMs = serves ? performance.now() - endedMs : Infinity;
  const isBooting = survivor === 'none' || !takeover.hasReached('taken over');
  if (survivor === 'none') await predecessor.exit;
  const limitMs = servedMsMax[signal] + (isBooting ? usualMs * 2 : 0);
  const said = `${name}: ${survivor} is left and serves after ${milliseconds(servedMs)}`;
  site.ledger.tell(said);
  if (servedMs > limitMs) site.ledger.note(`${said}, at most ${milliseconds(limitMs)}`);
  if (isAlive(predecessor) && isAlive(successor)) site.ledger.note(`${name}: both processes run`);
}

/** Resolves when the kill is due. */
async function momentOf(
  { site: { random } }: Takeovers,
  number: number,
  takeover: Takeover,
  usualMs: number,
): Promise<string> {
  if (number % 2 === 0) {
    const ms = random.next() * usualMs * 1.1;
    await pause(ms);
    return `after ${milliseconds(ms)}`;
  }
  const step = stepNames[((number - 1) / 2) % stepNames.length] ?? 'accepted';
  const delayMs = random.chance(0.7) ? random.next() * delayMsMax : 0;
  await reach(takeover, step);
  await pause(delayMs);
  return `${step} and ${milliseconds(delayMs)}`;
}

async function reach(takeover: Takeover, step: StepName): Promise<void> {
  await Promise.race([takeover.reaches(step), pause(waitMsMax)]);
}

/** The process that was not ended; `none` when it was a predecessor that ended by itself. */
async function survivorOf(
  { site: { ledger } }: Takeovers,
  victim: Role,
  takeover: Takeover,
): Promise<Role | 'none'> {
  const other = victim === 'successor' ? 'predecessor' : 'successor';
  if (isAlive(takeover[other])) return other;
  const { code, signal } = await takeover[other].exit;
  const hasEnded = other === 'predecessor' && code === 0;
  if (!hasEnded) ledger.note(`the ${other} ended with ${code ?? signal}, too`);
  return 'none';
}
