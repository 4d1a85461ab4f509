import { expect, it } from 'vitest';
import type { Missing } from '../../../config/demo/nats-server.ts';

/** In place of the tests of a file that need a broker, which are then not registered: one line says why. */
export function notRun(what: string, { missing }: Missing): void {
  it(`${what}: not run`, () => {
    process.stdout.write(`${what}: not run: ${missing}\n`);
    expect(missing).not.toBe('');
  });
}
