/** Runs a command in a thread that has loaded the program once: see `runCommand`. */
import { run } from '../../src/operations/run.ts';

export interface CommandOrder {
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

export default async ({ args, environment }: CommandOrder) => {
  const results: string[] = [];
  const reasons: string[] = [];
  const code = await run(args, {
    result: (text) => void results.push(`${text}\n`),
    show: async (text) => void results.push(`${text}\n`),
    progress: (text) => void reasons.push(`${text}\n`),
    environment,
  });
  return { code, signal: null, stdout: results.join(''), stderr: reasons.join('') };
};
