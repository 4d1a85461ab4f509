import { Random } from '../../crash/random.ts';
import { MemoryLog } from './memory-log.ts';
import { MemoryStream, realLater, type Later } from './memory-stream.ts';
import { orderedLogContract } from './ordered-log-contract.ts';

/** A refusal takes up to 4 s: here 20 ms. */
const quickly: Later = (ms, run) => realLater(ms / 200, run);

orderedLogContract({
  name: 'faulty memory',
  faults: 'allowed',
  open: () => {
    const stream = new MemoryStream();
    const draws = new Random(17);
    const random = (): number => draws.next();
    const faults = {
      lostAnswer: 0.1,
      lostAppend: 0.1,
      late: 0.1,
      duplicate: 0.1,
      lateMs: 1_000,
      end: 0.1,
      stall: 0.1,
      stallMs: 1_000,
      latencyMs: 200,
      entriesMax: 4,
    };
    return Promise.resolve(() => new MemoryLog({ stream, random, faults, later: quickly }));
  },
});

orderedLogContract({
  name: 'memory',
  faults: 'none',
  open: () => {
    const stream = new MemoryStream();
    return Promise.resolve(() => new MemoryLog({ stream }));
  },
});
