/** A thread that does what a test asks: answer, wait until it is released, throw, refuse, or die. */
import { getPriority } from 'node:os';
import { threadId } from 'node:worker_threads';
import { Failure } from '../../../src/model/failure.ts';
import { threadEntry } from '../../../src/platform/workers/entry.ts';

export type Probe =
  | { readonly kind: 'echo'; readonly text: string }
  /** Answers once the gate is not 0 any more. */
  | { readonly kind: 'wait'; readonly gate: Int32Array }
  | { readonly kind: 'priority' | 'thread' | 'throw' | 'refuse' | 'exit' | 'crash' };

export default threadEntry(async (probe: Probe): Promise<string> => {
  switch (probe.kind) {
    case 'echo':
      return probe.text;
    case 'wait':
      await Atomics.waitAsync(probe.gate, 0, 0).value;
      return 'waited';
    case 'priority':
      return String(getPriority(0));
    case 'thread':
      return String(threadId);
    case 'throw':
      throw new TypeError('a defect');
    case 'refuse':
      throw new Failure('not_found', 'nothing there', {
        faults: [{ path: 'id', code: 'unknown', message: 'unknown' }],
        retryAfterSeconds: 7,
      });
    case 'exit':
      process.exit(3);
    default:
      setTimeout(() => {
        throw new Error('uncaught');
      }, 0);
      return new Promise(() => undefined);
  }
});
