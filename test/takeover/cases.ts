/**
 * Faults of a takeover, each under load: processes that hang or are stopped, takeovers at an unusual moment. After each
 * case one process serves, and another takeover completes.
 */
import { pause, type ServiceProcess } from '../support/process.ts';
import {
  isAlive,
  type ServiceOptions,
  type ServiceResult,
  ServiceUnderLoad,
} from './service-under-load.ts';
import { type StepName, TakeoverLog } from './takeover-log.ts';

type Case = (service: ServiceUnderLoad) => Promise<void>;

const endMsMax = 30_000;
const servedMsMax = 10_000;
/** The old process only redirects meanwhile. */
const hangMs = 2_000;

export async function runCases(options: ServiceOptions): Promise<ServiceResult> {
  const service = await ServiceUnderLoad.open(options);
  try {
    for (const [name, run] of Object.entries(cases)) {
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

/** Starts a successor; resolves at that step of its takeover. */
async function takeoverAt(service: ServiceUnderLoad, step: StepName) {
  const predecessor = service.current;
  const successor = service.startSuccessor();
  const log = new TakeoverLog(predecessor, successor);
  await Promise.race([log.reaches(step), pause(endMsMax)]);
  return { predecessor, successor, log };
}

const cases: Readonly<Record<string, Case>> = {
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
  async 'predecessor still starting'(service) {
    await service.current.terminate();
    const predecessor = service.start(['serve']);
    await expectOneLeft(service, [predecessor, service.startSuccessor()]);
  },
  ...stopCases(),
  async 'successor hangs'(service) {
    const { predecessor, successor } = await takeoverAt(service, 'yielded');
    successor.signal('SIGSTOP');
    await pause(hangMs);
    if (!(await service.redirects())) service.note('a successor that hangs: no redirect');
    await service.kill(successor);
    service.current = service.start(['serve']);
    await predecessor.exit;
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
        const { predecessor } = processes;
        if (service.current !== predecessor || !log.hasReached('ready')) return;
        // It only redirects: the supervisor starts the service again.
        service.current = service.start(['serve']);
        await predecessor.exit;
      },
    ]),
  );
  return Object.fromEntries(entries);
}
