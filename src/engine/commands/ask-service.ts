/**
 * Asks the service that runs on a data folder to run a command, over the folder's lock (../takeover/messages.ts).
 *
 * A command that has not started is asked for again: while a service starts, stops or is upgraded, while another command has
 * the folder, and when the service ends before it answers. A command that has started is never repeated.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Failure } from '../../model/failure.ts';
import { type DataFolder, DataFolderError } from '../data-folder.ts';
import { answerMsMax, Channel } from '../takeover/channel.ts';
import { connectToOwner } from '../takeover/folder-lock.ts';
import {
  commandBytesMax,
  type CommandMessage,
  type FailedMessage,
  lineOf,
  parsePredecessorMessage,
  type PredecessorMessage,
  resultBytesMax,
  type ResultMessage,
  type SuccessorMessage,
} from '../takeover/messages.ts';

const triesMax = 600;
const retryMs = 50;

/**
 * @param ending ends the connection, and with it the command, whose result is null then
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
  const message: CommandMessage = { type: 'command', name, input: input ?? null };
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
  message: CommandMessage,
  onProgress: (value: unknown) => void,
  ending: AbortSignal | undefined,
): Promise<{ readonly result: unknown } | 'none' | 'not started'> {
  const socket = await connectToOwner(folder, `run ${message.name}`);
  if (socket === undefined) return 'none';
  const { promise: last, resolve } = Promise.withResolvers<PredecessorMessage | undefined>();
  const { promise: first, resolve: begin } = Promise.withResolvers<'begun'>();
  let isStarted = false;
  const channel = new Channel<PredecessorMessage, SuccessorMessage>(socket, {
    parse: parsePredecessorMessage,
    lineBytesMax: resultBytesMax,
    onMessage: (answer) => {
      begin('begun');
      if (answer.type === 'started') isStarted = true;
      else if (answer.type === 'progress') onProgress(answer.value);
      else resolve(answer);
    },
    onFault: () => resolve(undefined),
  });
  void channel.closed.then(() => resolve(undefined));
  ending?.addEventListener('abort', () => socket.destroy());
  channel.send(message);
  const waiting = new AbortController();
  try {
    const late = pause(answerMsMax, 'late' as const, { signal: waiting.signal });
    late.catch(() => undefined);
    if ((await Promise.race([first, last, late])) === 'late') throw hangs(folder);
    const answer = await last;
    if (answer?.type === 'result' || answer?.type === 'failed') return { result: resultOf(answer) };
    if (ending?.aborted === true) return { result: null };
    if (!isStarted) return 'not started';
    throw new DataFolderError(
      'The service ended before the command did: see whether it is done, else run it again',
    );
  } finally {
    waiting.abort();
    socket.destroy();
  }
}

/** @throws Failure, DataFolderError as the command failed */
export function resultOf(answer: ResultMessage | FailedMessage): unknown {
  if (answer.type === 'result') return answer.value;
  const { code, detail, faults } = answer;
  throw code === null ? new DataFolderError(detail) : new Failure(code, detail, { faults });
}

const hangs = ({ path }: DataFolder): DataFolderError =>
  new DataFolderError(
    `Cannot use data folder ${path}: its service did not answer within ${answerMsMax / 1_000} s, it hangs; ` +
      'end its process (its number is in service.pid), then try again',
  );
