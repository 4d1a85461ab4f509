/**
 * `quietzone health`: whether the service on this machine is ready, for a container's health check, whose image has
 * neither shell nor curl. It runs every few seconds in the container's memory, so main.ts loads only this file for it.
 */
import { Command, CommanderError } from 'commander';
import { messageOf } from '../model/failure.ts';
import { type Config, loadConfig } from '../platform/config/config.ts';
import type { CommandContext, Process } from './command.ts';

const answerMsMax = 5_000;

/** Address of a service that listens on all addresses. */
const loopbackOf: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** Runs `quietzone <args>`, a health command. @returns the exit code: 0 ready, 1 not, 2 bad configuration or usage */
export async function run(args: readonly string[], output: Process): Promise<number> {
  let isFailed = false;
  const program = new Command('quietzone').exitOverride().configureOutput({
    writeOut: (text) => output.result(text.trimEnd()),
    writeErr: (text) => output.progress(text.trimEnd()),
  });
  addHealthCommand(program, { ...output, fail: () => void (isFailed = true) });
  try {
    await program.parseAsync(args, { from: 'user' });
    return isFailed ? 1 : 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    output.progress(messageOf(error));
    return 2;
  }
}

export function addHealthCommand(parent: Command, context: CommandContext): void {
  parent
    .command('health')
    .description('check whether the running service is ready')
    .option('--live', 'check only whether it answers')
    .action(async ({ live }: { readonly live?: true }) => {
      const { api } = loadConfig(undefined, context.environment);
      const { ok, text } = await ask(api, live ? '/health/live' : '/health/ready');
      if (ok) return context.result(text);
      context.progress(text);
      context.fail();
    });
}

/** @returns the answer, or the reason for a missing answer */
function ask(api: Config['api'], path: string): Promise<{ ok: boolean; text: string }> {
  const { host, port, tlsCertFile } = api;
  // The certificate names the public address, not this one; the connection does not leave the machine.
  const options = { host: loopbackOf[host] ?? host, port, path, rejectUnauthorized: false };
  // Not `import`, which would load more than the client: see platform/uws/write.ts.
  const { get } = process.getBuiltinModule(tlsCertFile === '' ? 'node:http' : 'node:https');
  return new Promise((resolve) => {
    const request = get({ ...options, timeout: answerMsMax, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve({ ok: response.statusCode === 200, text }));
    });
    request.on('timeout', () => request.destroy(new Error(`no answer within ${answerMsMax} ms`)));
    request.on('error', ({ message }) => {
      resolve({ ok: false, text: `Cannot reach the service on port ${port}: ${message}` });
    });
  });
}
