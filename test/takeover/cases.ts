/**
 * Faults of a takeover, each under load: successors that fail, processes that hang or are stopped, takeovers at an
 * unusual moment. After each case one process serves, a process that gave up has said why, and another takeover
 * completes.
 */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { pause, type ServiceProcess } from '../support/process.ts';
import {
  isAlive,
  type ServiceOptions,
  type ServiceResult,
  ServiceUnderLoad,
} from './service-under-load.ts';
import { type StepName, TakeoverLog } from './takeover-log.ts';

export interface CasesOptions extends ServiceOptions {
  /** Names of cases; default: all of them. */
  readonly only?: readonly string[] | undefined;
}

type Case = (service: ServiceUnderLoad) => Promise<void>;

const endMsMax = 30_000;
const servedMsMax = 10_000;
/** A predecessor kills a successor that hangs after 30 s; a successor gives up a predecessor that hangs after 20 s. */
const hangMsMax = 45_000;
/** What a process has sent when it is stopped arrives by then. */
const arrivalMs = 1_000;
/** Less than any page of LMDB but the two meta pages, and than any journal. */
const fileBytesMax = 8_192;

export async function runCases(options: CasesOptions): Promise<ServiceResult> {
  const names = options.only ?? Object.keys(cases);
  const selected = names.map((name): readonly [string, Case] => {
    const run = cases[name];
    if (run !== undefined) return [name, run];
    throw new Error(`Cannot find the case "${name}", expected one of ${Object.keys(cases).join()}`);
  });
  const service = await ServiceUnderLoad.open(options);
  try {
    for (const [name, run] of selected) {
      const before = service.notes.length;
      const startedMs = performance.now();
      await run(service);
      if (!(await service.servesWithin(servedMsMax))) service.note('nothing serves afterwards');
      await service.takeOver();
      const notes = service.notes.splice(before).map((note) => `${name}: ${note}`);
      service.notes.push(...notes);
      const text = notes.length === 0 ? 'as expected' : notes.join('; ');
      console.log(`${name}: ${text}, ${Math.round(performance.now() - startedMs)} ms`);
    }
    return await service.finish();
  } finally {
    await service.close();
  }
}

/** The successor must give up for that reason, and its predecessor go on. */
async function expectGivenUp(
  service: ServiceUnderLoad,
  successor: ServiceProcess,
  reason: RegExp,
): Promise<void> {
  const exit = await Promise.race([successor.exit, pause(hangMsMax)]);
  if (exit === undefined) service.note('the successor does not give up');
  else if (exit.code !== 1) {
    service.note(`the successor ended with ${exit.code ?? exit.signal}`);
  }
  const output = `${successor.stdout}${successor.stderr}`;
  if (!reason.test(output)) service.note(`no ${String(reason)} in ${output.slice(-1_000)}`);
  if (!isAlive(service.current)) service.note('the predecessor has ended');
}

/** One of these processes must be left, or at least `leftMin`; it becomes the current one. */
async function expectOneLeft(
  service: ServiceUnderLoad,
  processes: readonly ServiceProcess[],
  leftMin = 1,
): Promise<void> {
  const deadlineMs = performance.now() + endMsMax;
  while (processes.filter(isAlive).length > 1 && performance.now() < deadlineMs) await pause(10);
  const left = processes.filter(isAlive);
  if (left.length < leftMin || left.length > 1) {
    service.note(`${left.length} processes are left`);
  }
  service.current = left[0] ?? service.start(['serve']);
}

const limitFiles = ({ pid }: ServiceProcess): void =>
  void execFileSync('prlimit', ['--pid', String(pid), `--fsize=${fileBytesMax}:`]);

/** Starts a successor; resolves at that step of its takeover. */
async function takeoverAt(service: ServiceUnderLoad, step: StepName) {
  const predecessor = service.current;
  const successor = service.startSuccessor();
  const log = new TakeoverLog(predecessor, successor);
  await Promise.race([log.reaches(step), pause(endMsMax)]);
  return { predecessor, successor, log };
}

const cases: Readonly<Record<string, Case>> = {
  async 'port taken'(service) {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const address = holder.address();
    const port = typeof address === 'object' && address !== null ? String(address.port) : '';
    const successor = service.startSuccessor({ QZ_API_PORT: port });
    await expectGivenUp(service, successor, new RegExp(port));
    holder.close();
  },
  async 'full disk'(service) {
    const successor = service.startSuccessor();
    limitFiles(successor);
    await expectGivenUp(service, successor, /space|full|EFBIG|write/i);
  },
  async 'two successors at once'(service) {
    const predecessor = service.current;
    const successors = [service.startSuccessor(), service.startSuccessor()];
    await expectOneLeft(service, [predecessor, ...successors]);
    const codes = await Promise.all(
      successors
        .filter((one) => one !== service.current)
        .map(async ({ exit }) => (await exit).code),
    );
    if (codes.length !== 1 || codes[0] !== 1) service.note(`two successors: ${codes.join(', ')}`);
  },
  async 'second successor during a takeover'(service) {
    const { predecessor, successor } = await takeoverAt(service, 'yielded');
    await expectOneLeft(service, [predecessor, successor, service.startSuccessor()]);
  },
  async 'predecessor still starting'(service) {
    await service.current.terminate();
    const predecessor = service.start(['serve']);
    await expectOneLeft(service, [predecessor, service.startSuccessor()]);
  },
  async 'predecessor killed'(service) {
    const { predecessor, successor } = await takeoverAt(service, 'yielded');
    await service.kill(predecessor);
    service.current = successor;
  },
  ...stopCases(),
  async 'successor hangs'(service) {
    const { predecessor, successor } = await takeoverAt(service, 'yielded');
    successor.signal('SIGSTOP');
    await pause(arrivalMs);
    service.interrupted();
    const exit = await Promise.race([successor.exit, pause(hangMsMax)]);
    if (exit?.signal !== 'SIGKILL') service.note(`a successor that hangs: ${JSON.stringify(exit)}`);
    successor.signal('SIGCONT');
    if (!isAlive(predecessor)) service.note('the predecessor has ended');
  },
  async 'predecessor hangs'(service) {
    service.current.signal('SIGSTOP');
    await expectGivenUp(service, service.startSuccessor(), /answer|hang|seconds|within/i);
    service.interrupted();
    service.current.signal('SIGCONT');
  },
};

/** SIGTERM of either process, at steps of the takeover. */
function stopCases(): Record<string, Case> {
  const steps = ['accepted', 'ready', 'yielded', 'listening'] as const;
  const entries = steps.flatMap((step) =>
    (['predecessor', 'successor'] as const).map((role): readonly [string, Case] => [
      `SIGTERM of the ${role} at ${step}`,
      async (service) => {
        const { log, ...processes } = await takeoverAt(service, step);
        await processes[role].terminate();
        // A successor that listens is the service: SIGTERM stops that, and its predecessor may have ended.
        const isServiceStopped = role === 'successor' && log.hasReached('listening');
        await expectOneLeft(service, Object.values(processes), isServiceStopped ? 0 : 1);
      },
    ]),
  );
  return Object.fromEntries(entries);
}
