import { expect, test } from 'vitest';
import { Random } from '../../crash/random.ts';
import { MemoryLog, noFaults, type LogFaults } from './memory-log.ts';
import { MemoryStream } from './memory-stream.ts';
import { VirtualTime } from '../simulation/virtual-time.ts';

const worst: LogFaults = {
  lostAnswer: 0.1,
  lostAppend: 0.1,
  late: 0.1,
  duplicate: 0.1,
  lateMs: 9_000,
  end: 0.05,
  stall: 0.1,
  stallMs: 2_000,
  latencyMs: 50,
  entriesMax: 5,
};

const pass = (time: VirtualTime, ms: number): Promise<void> => time.run(time.nowMs + ms);

/** Three handles, a reading on each that is begun again, and what they did as lines. */
function cluster(seed: number, faults = noFaults) {
  const random = new Random(seed);
  const time = new VirtualTime();
  const stream = new MemoryStream();
  const lines: string[] = [];
  const note = (line: string): void => void lines.push(`${Math.round(time.nowMs)} ${line}`);
  const logs = ['a', 'b', 'c'].map((name) => {
    const log = new MemoryLog({ stream, random: () => random.next(), later: time.later, faults });
    let next = 1;
    const begin = (): void => {
      log.follow(next, {
        entry: (seq, body) => {
          next = seq + 1;
          note(`${name} reads ${seq}: ${body[0]}`);
        },
        ended: (error) => {
          note(`${name}: ${error.message}`);
          begin();
        },
      });
    };
    begin();
    return log;
  });
  const append = (log: MemoryLog, value: number): void => {
    log.append(Uint8Array.of(value)).then(
      (seq) => note(`${value} is ${seq}`),
      (error: Error) => note(`${value}: ${error.message}`),
    );
  };
  return { time, stream, lines, logs, append };
}

async function run(seed: number): Promise<string[]> {
  const { time, logs, lines, append } = cluster(seed, worst);
  for (let round = 0; round < 40; round++) {
    append(logs[round % 3]!, round);
    if (round === 10) logs[1]!.leave();
    if (round === 20) logs[1]!.comeBack();
    await pass(time, 300);
  }
  await pass(time, 30_000);
  return lines;
}

test('the same draws make the same run, in which every fault is seen', async () => {
  const lines = await run(3);
  expect(await run(3)).toEqual(lines);
  expect(await run(4)).not.toEqual(lines);
  const text = lines.join('\n');
  expect(text).toContain('The reading was lost');
  expect(text).toContain('The log is away');
  expect(text).toContain('The log did not answer');
  const reads = lines
    .filter((line) => line.includes('a reads'))
    .map((line) => Number(line.split(' ').at(-1)));
  expect(new Set(reads).size).toBeLessThan(reads.length);
  expect(reads).not.toEqual(reads.toSorted((a, b) => a - b));
});
