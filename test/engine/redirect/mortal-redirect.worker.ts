/** The redirect thread, and ways to end it: what a defect in it would do. */
import { parentPort } from 'node:worker_threads';

const ends: Readonly<Record<string, () => void>> = {
  throw: () =>
    void setImmediate(() => {
      throw new Error('thrown for the test');
    }),
  reject: () => void Promise.reject(new Error('rejected for the test')),
  exit: () => process.exit(3),
};

// Before the thread's own listener, which would take any word for "drain".
parentPort?.addEventListener('message', (event: Event & { data?: { kind: string } }) => {
  const end = ends[event.data?.kind ?? ''];
  if (end === undefined) return;
  event.stopImmediatePropagation();
  end();
});
await import('../../../src/engine/redirect/redirect.worker.ts');
