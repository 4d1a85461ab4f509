import { expect, it } from 'vitest';
import { OpeningLog } from '../../../src/cluster/log/opening-log.ts';
import { MemoryLog, MemoryStream, realLater } from './memory-log.ts';

it('a log that is not reached yet refuses, with the reason, and is the log once it is', async () => {
  const log = new OpeningLog();
  log.fault = 'away';
  for (const asked of [log.append(new Uint8Array(1)), log.bounds(), log.prune(1)]) {
    await expect(asked).rejects.toThrow('away');
  }
  const ends: string[] = [];
  const reader = { entry: () => undefined, ended: ({ message }: Error) => void ends.push(message) };
  log.follow(1, reader);
  log.follow(1, reader).stop();
  await Promise.resolve();
  expect(ends).toEqual(['away']);
  await log.close();
  log.open(new MemoryLog(new MemoryStream(), realLater));
  expect(log.fault).toBeUndefined();
  expect(await log.append(Uint8Array.of(7))).toBe(1);
  expect(await log.bounds()).toEqual({ first: 1, last: 1 });
  const seen: number[] = [];
  const reading = log.follow(1, { ...reader, entry: (seq) => void seen.push(seq) });
  await expect.poll(() => seen).toEqual([1]);
  reading.stop();
  await log.prune(2);
  expect(await log.bounds()).toEqual({ first: 2, last: 1 });
  await log.close();
});
