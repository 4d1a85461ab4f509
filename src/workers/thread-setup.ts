/**
 * The thread's side of `SupervisedThread`: what it was started with, and the port to its supervisor.
 * The one place that believes what another thread sent: both ends are built from the same type.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';

export interface ThreadLine<Setup, Report, Request> {
  readonly setup: Setup;
  readonly send: (report: Report) => void;
  readonly onRequest: (handle: (request: Request) => void) => void;
}

/** @throws Error when this is not a thread */
export function openThreadLine<Setup, Report, Request>(): ThreadLine<Setup, Report, Request> {
  const port: MessagePort | null = parentPort;
  if (port === null) throw new Error('Cannot open a thread line: this is the main thread');
  return {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    setup: workerData as Setup,
    send: (report) => port.postMessage(report),
    onRequest: (handle) => port.on('message', handle),
  };
}
