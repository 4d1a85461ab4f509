/** A thread that does what a test tells it: answer, wait, throw, refuse, or die. */
import { getPriority } from 'node:os';
import { Failure } from '../../src/model/failure.ts';
import { threadEntry } from '../../src/workers/entry.ts';

export type Probe =
  | { readonly kind: 'echo'; readonly text: string }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'priority' | 'throw' | 'refuse' | 'exit' | 'crash' };

export default threadEntry(async (probe: Probe): Promise<string> => {
  switch (probe.kind) {
    case 'echo':
      return probe.text;
    case 'wait':
      await new Promise((resolve) => setTimeout(resolve, probe.ms));
      return 'waited';
    case 'priority':
      return String(getPriority(0));
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
