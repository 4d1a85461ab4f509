/** The thread's side of `SupervisedThread`. It trusts the types of messages, because both ends are built together. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';

export interface ThreadChannel<Setup, Message, Command> {
  readonly setup: Setup;
  readonly send: (message: Message) => void;
  readonly onCommand: (handle: (command: Command) => void) => void;
}

export function openThreadChannel<Setup, Message, Command>(): ThreadChannel<
  Setup,
  Message,
  Command
> {
  const port: MessagePort | null = parentPort;
  if (port === null) throw new Error('Cannot open a thread channel: this is the main thread');
  return {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    setup: workerData as Setup,
    send: (message) => port.postMessage(message),
    onCommand: (handle) => port.on('message', handle),
  };
}
