/**
 * Asks the service that runs on a data folder to run a command, over the folder's lock (../upgrade/messages.ts).
 *
 * Repeats a request whose command has not started: while a service starts, stops or is upgraded, while another command
 * uses the folder, and if the service ends before it answers. Never repeats a command that has started.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Failure } from '../../model/failure.ts';
import { type DataFolder, DataFolderError } from '../folder/data-folder.ts';
import { Channel } from '../upgrade/channel.ts';
import { answerMsMax, connectToOwner } from '../folder/folder-lock.ts';
import { commandBytesMax, lineOf, type Message } from '../upgrade/messages.ts';

const triesMax = 600;
const retryMs = 50;

/**
 * @param ending ends the connection and the command, whose result is then null
 * @returns undefined if no service runs
 * @throws Failure as the service refused it; DataFolderError if the service hangs or belongs to another user, or the folder
 * stays in use
 */
export async function askService(
  folder: DataFolder,
  name: string,
  input: unknown,
  onProgress: (value: unknown) => void = () => undefined,
  ending?: AbortSignal,
): Promise<{ readonly result: unknown } | undefined> {
  const message: Message<'command'> = { type: 'command', name, input: input ?? null };
  if (Buffer.byteLength(lineOf(message)) > commandBytesMax) {
    throw new Failure(
      'body_too_large',
      `The input of a command has ${commandBytesMax} bytes at most`,
    );
  }
  for (let tries = 1; tries <= triesMax; tries++) {
    const answer = await ask(folder, message, onProgress, ending);
    if (answer === 'none') return undefined;
    if (answer !== 'not started') return answer;
    await pause(retryMs);
  }
  throw new DataFolderError(
    `Cannot use data folder ${folder.path}: it is in use by a command, or by a service that is starting or stopping; try again`,
  );
}

async function ask(
  folder: DataFolder,
  message: Message<'command'>,
  onProgress: (value: unknown) => void,
  ending: AbortSignal | undefined,
): Promise<{ readonly result: unknown } | 'none' | 'not started'> {
  const socket = await connectToOwner(folder, `run ${message.name}`);
  if (socket === undefined) return 'none';
  const channel = new Channel(socket);
  ending?.addEventListener('abort', () => channel.destroy());
  channel.send(message);
  let isStarted = false;
  let msMax: number | undefined = answerMsMax;
  try {
    for (;;) {
      const answer = await channel.receive(answerTypes, msMax);
      msMax = undefined;
      if (answer === 'late') throw hangs(folder);
      if (answer === 'gone' || answer.type === 'refused') break;
      if (answer.type === 'started') isStarted = true;
      else if (answer.type === 'progress') onProgress(answer.value);
      else return { result: resultOf(answer) };
    }
  } finally {
    channel.destroy();
  }
  if (ending?.aborted === true) return { result: null };
  if (!isStarted) return 'not started';
  throw new DataFolderError(
    'The service ended before the command: check whether it is done, else run it again',
  );
}

const answerTypes = ['started', 'progress', 'result', 'failed', 'refused'] as const;

/** @throws Failure, DataFolderError as the command failed */
export function resultOf(answer: Message<'result' | 'failed'>): unknown {
  if (answer.type === 'result') return answer.value;
  const { code, detail, faults } = answer;
  throw code === null ? new DataFolderError(detail) : new Failure(code, detail, { faults });
}

const hangs = ({ path }: DataFolder): DataFolderError =>
  new DataFolderError(
    `Cannot use data folder ${path}: its service did not answer within ${answerMsMax / 1_000} s; ` +
      'end its process (its number is in service.pid), then try again',
  );
