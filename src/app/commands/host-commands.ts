/** The running service's side of commands: one on each connection, `runningMax` at once. */
import { Failure, messageOf } from '../../model/failure.ts';
import { DataFileError } from '../../store/damage.ts';
import type { Logger } from '../../platform/log.ts';
import { DataFolderError } from '../folder/data-folder.ts';
import type { Channel } from '../upgrade/channel.ts';
import type { Message } from '../upgrade/messages.ts';
import type { CommandControl, CommandTable } from './command-table.ts';

const runningMax = 16;

export class HostedCommands {
  readonly #table: CommandTable;
  readonly #log: Logger;
  readonly #running = new Map<AbortController, Promise<unknown>>();
  #isClosed = false;

  constructor(table: CommandTable, log: Logger) {
    this.#table = table;
    this.#log = log;
  }

  run(channel: Channel, message: Message<'command'>): void {
    if (this.#isClosed) {
      return channel.sendLast({ type: 'refused', reason: 'the service is stopping or upgraded' });
    }
    if (this.#running.size >= runningMax) {
      return channel.sendLast({ type: 'refused', reason: `${runningMax} commands are running` });
    }
    const aborting = new AbortController();
    const disconnected = new Failure('not_active', 'The command disconnected');
    void channel.closed.then(() => aborting.abort(disconnected));
    // The client runs a command again only if it has not started.
    channel.send({ type: 'started' });
    const progress = (value: unknown): void => channel.send({ type: 'progress', value });
    const control = { progress, signal: aborting.signal };
    const answered = runCommand(this.#table, message, control, this.#log);
    const ended = answered.then((answer) => channel.sendLast(answer));
    void ended.then(() => this.#running.delete(aborting));
    this.#running.set(aborting, ended);
  }

  /** Aborts running commands and refuses new ones. Resolves when no command runs. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const reason = new Failure(
      'not_active',
      'The service stopped or was upgraded before the command ended; run it again',
    );
    for (const aborting of this.#running.keys()) aborting.abort(reason);
    await Promise.all(this.#running.values());
  }
}

/** Runs one command. Never rejects. */
export async function runCommand(
  table: CommandTable,
  { name, input }: Message<'command'>,
  control: CommandControl,
  log: Logger,
): Promise<Message<'result' | 'failed'>> {
  const { signal } = control;
  try {
    const command = Object.hasOwn(table, name) ? table[name] : undefined;
    if (command === undefined) {
      throw new DataFolderError(`The running service has no command ${name}: upgrade it`);
    }
    const value = await command(input, control);
    return { type: 'result', value: value ?? null };
  } catch (err) {
    const isInterrupted = signal.aborted && !(err instanceof Failure);
    return failed(name, isInterrupted ? signal.reason : err, log);
  }
}

function failed(command: string, error: unknown, log: Logger): Message<'failed'> {
  if (error instanceof Failure) {
    return { type: 'failed', code: error.code, detail: error.message, faults: error.faults };
  }
  const isExpected = error instanceof DataFolderError || error instanceof DataFileError;
  if (!isExpected) log.error({ err: error, command }, 'command failed');
  const detail = isExpected
    ? messageOf(error)
    : 'The service failed to run the command; its log has the reason';
  return { type: 'failed', code: null, detail, faults: [] };
}
