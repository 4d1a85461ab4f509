/** Runs commands, one after the other, in a thread that has loaded the program once: see `runCommand`. */
import { parentPort } from 'node:worker_threads';
import { run } from '../../src/cli/run.ts';

export interface CommandOrder {
  readonly no: number;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

export interface CommandEnd {
  readonly no: number;
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function execute({ no, args, environment }: CommandOrder): Promise<CommandEnd> {
  const results: string[] = [];
  const reasons: string[] = [];
  const code = await run(args, {
    result: (text) => void results.push(`${text}\n`),
    show: async (text) => void results.push(`${text}\n`),
    progress: (text) => void reasons.push(`${text}\n`),
    environment,
  });
  return { no, code, stdout: results.join(''), stderr: reasons.join('') };
}

let running: Promise<void> = Promise.resolve();

parentPort?.on('message', (order: CommandOrder) => {
  running = running.then(async () => parentPort?.postMessage(await execute(order)));
});
