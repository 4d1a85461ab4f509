/** Roles of a core: what a leader without its lease cannot store keeps nothing from closing, nor from going on. */
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { Failure } from '../../src/model/failure.ts';
import { CoreRole, type OpenRole, thenGoesOn } from '../../src/node/core-role.ts';
import { createLog } from '../../src/telemetry/log.ts';

const lines: string[] = [];
const log = createLog(
  'info',
  new Writable({
    write(chunk, _encoding, done) {
      lines.push(JSON.parse(String(chunk)).msg);
      done();
    },
  }),
);
const refused = (): Failure => new Failure('not_active', 'another machine leads');
const closingWith = (error: Error): OpenRole => ({
  close: async () => {
    throw error;
  },
});

async function leading(leader: OpenRole): Promise<CoreRole> {
  const role = new CoreRole({
    isLeading: () => true,
    lead: () => Promise.resolve(leader),
    standBy: () => Promise.reject(new Error('it leads')),
    log,
  });
  await role.update();
  return role;
}

test('CoreRole.close of a leader that may not write any more is a clean end', async () => {
  const one = await leading(closingWith(refused()));
  await one.close();
  expect(lines).toContain('this role did not close cleanly');
  const several = new AggregateError([refused(), refused()], 'two');
  await (await leading(closingWith(several))).close();
});

test('CoreRole.close says what else could not be stored', async () => {
  const full = new Failure('storage_full', 'the disk is full');
  await expect((await leading(closingWith(full))).close()).rejects.toBe(full);
  const both = new AggregateError([refused(), full], 'two');
  await expect((await leading(closingWith(both))).close()).rejects.toBe(both);
});

test('thenGoesOn lets a machine go on whose former role did not close cleanly', async () => {
  let count = 0;
  const goOn = (): void => void count++;
  await thenGoesOn({ close: () => Promise.resolve() }, goOn).close();
  await expect(thenGoesOn(closingWith(refused()), goOn).close()).rejects.toThrow('another machine');
  expect(count).toBe(2);
});
