/**
 * What every implementation of `OrderedLog` must do, on a log without faults: all appends are answered, each is there once, no
 * reading ends. In memory, as the seeds use it, and on a real broker where one is found. Faults that the port allows:
 * nats-faults.cluster.test.ts, simulation/.
 */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { NatsServer } from '../../../config/demo/nats-server.ts';
import type { OrderedLog } from '../../../src/cluster/log/ordered-log.ts';
import type { NatsConnection } from '../../../src/cluster/nats/nats-connection.ts';
import { NatsLog } from '../../../src/cluster/nats/nats-log.ts';
import { ensureStream } from '../../../src/cluster/nats/nats-stream.ts';
import { withNatsServer, temporaryBrokers } from '../nats/brokers.ts';
import { LogRecorder } from './log-recorder.ts';
import { MemoryLog, MemoryStream } from './memory-log.ts';

/** An empty log. @returns makes a new handle on it, as another machine has */
type OpenLog = () => Promise<() => OrderedLog>;

let handle: () => OrderedLog;
let log: OrderedLog;
let other: OrderedLog;
const recorders: LogRecorder[] = [];

function follow(on: OrderedLog, from = 1): LogRecorder {
  const recorder = new LogRecorder(on, from);
  recorders.push(recorder);
  return recorder;
}

const bytes = (text: string): Uint8Array => Buffer.from(text);

/** Appends one after another. @returns the positions that were answered */
async function fill(on: OrderedLog, texts: readonly string[]): Promise<number[]> {
  const positions: number[] = [];
  for (const text of texts) positions.push(await on.append(bytes(text)));
  return positions;
}

const numbered = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, number) => `${prefix}${number}`);

/** Resolves when two readings have seen all up to the end of the log. */
async function settled(...readings: readonly LogRecorder[]): Promise<number> {
  const { last } = await log.bounds();
  await Promise.all(readings.map((reading) => reading.reached(last)));
  return last;
}

const promises: Record<string, () => Promise<void>> = {
  'all handles read one order, and what was answered stands where the answer says': async () => {
    expect(await log.bounds()).toEqual({ first: 1, last: 0 });
    const readings = [follow(log), follow(other), follow(handle())];
    const [a, b] = [numbered('a', 100), numbered('b', 100)];
    const append = (to: OrderedLog, text: string): Promise<number> => to.append(bytes(text));
    const [answersA, answersB] = await Promise.all([
      Promise.all(a.map((text) => append(log, text))),
      Promise.all(b.map((text) => append(other, text))),
    ]);
    expect(await settled(...readings)).toBe(200);
    for (const { texts } of readings) {
      expect(answersA.map((position) => texts[position - 1])).toEqual(a);
      expect(answersB.map((position) => texts[position - 1])).toEqual(b);
      // Those of one handle in the order of the calls.
      expect(texts.filter((text) => text.startsWith('a'))).toEqual(a);
      expect(texts.filter((text) => text.startsWith('b'))).toEqual(b);
    }
  },

  'bodies up to the limit arrive whole, and belong to the reader': async () => {
    const recorder = follow(other);
    const sizes = [0, 1, 700 * 1024, 3, 700 * 1024, 1_000_000];
    const bodies = sizes.map((size, index) => new Uint8Array(size).fill(index + 1));
    const positions: number[] = [];
    for (const body of bodies) positions.push(await log.append(body));
    // What a client keeps in a buffer that it uses again would be written over now.
    await fill(log, numbered('later', 50));
    await settled(recorder);
    for (const [index, position] of positions.entries()) {
      expect(Buffer.compare(recorder.body(position), bodies[index]!)).toBe(0);
    }
  },
  'a reading from beyond the end waits for its position': async () => {
    await fill(log, ['before']);
    const from = (await log.bounds()).last + 4;
    const [recorder, whole] = [follow(other, from), follow(log)];
    while (whole.next <= from + 2) await fill(log, [`w${whole.next}`]);
    await settled(recorder, whole);
    expect(recorder.text(from)).toBe(whole.text(from));
  },

  'what is pruned is gone, and the rest keeps its position': async () => {
    const answered = await fill(log, numbered('p', 10));
    const below = answered[6]!;
    await log.prune(below);
    await other.prune(below - 2);
    expect((await other.bounds()).first).toBe(below);

    const kept = follow(other, below);
    await settled(kept);
    expect(kept.text(below)).toBe('p6');
  },

  'a log that is wholly pruned appends after its last position': async () => {
    await fill(log, numbered('g', 3));
    const recorder = follow(other);
    const last = await settled(recorder);
    // Beyond the end too: positions are not left out. Once more, when nothing is left.
    await log.prune(last + 100);
    await log.prune(last + 100);
    const bounds = await log.bounds();
    expect(bounds).toEqual({ first: last + 1, last });
    const [position] = await fill(log, ['on']);
    expect(position).toBe(last + 1);
    const after = follow(other, bounds.last + 1);
    await after.reached(position!);
    expect(after.text(position!)).toBe('on');
  },

  'a reading that is stopped brings nothing more: at once, and from within an entry': async () => {
    const said: string[] = [];
    const note = {
      entry: (seq: number) => void said.push(`entry ${seq}`),
      ended: (error: Error) => void said.push(error.message),
    };
    await fill(log, numbered('q', 5));
    other.follow(1, note).stop();
    const recorder = follow(other);
    let inside = 0;
    const reading = other.follow(1, {
      entry: () => {
        inside++;
        reading.stop();
        reading.stop();
      },
      ended: note.ended,
    });
    const later = other.follow(1_000_000, note);
    await fill(log, numbered('z', 5));
    await settled(recorder);
    later.stop();
    await fill(log, ['end']);
    await settled(recorder);
    expect(said.filter((line) => line.startsWith('entry'))).toEqual([]);
    expect(inside).toBeLessThanOrEqual(1);
  },
};

/** @param start what is there for all of them @returns ends it */
function contract(name: string, open: OpenLog, start?: () => Promise<() => Promise<void>>): void {
  describe(`ordered log: ${name}`, () => {
    beforeAll(() => start?.());
    beforeEach(async () => {
      handle = await open();
      [log, other] = [handle(), handle()];
    });
    afterEach(() => {
      for (const recorder of recorders.splice(0)) {
        recorder.stop();
        expect([recorder.violations, recorder.endings]).toEqual([[], 0]);
      }
    });
    test.each(Object.entries(promises))('%s', (_, promise) => promise());
  });
}

contract('memory', async () => {
  const stream = new MemoryStream();
  return () => new MemoryLog(stream);
});

/** All its logs on one broker, and on the connections of two machines. @param own each node has a subject of its own */
function contractOfNats(server: NatsServer, own: boolean): void {
  let connections: readonly NatsConnection[];
  let count = 0;
  const open: OpenLog = async () => {
    count++;
    const stream = `S${count}`;
    const subject = own ? `s.${count}.>` : `s.${count}`;
    await ensureStream(connections[0]!, { stream, subject, replicas: 1 });
    let handles = 0;
    return () => {
      const connection = connections[handles % 2]!;
      const to = own ? `s.${count}.n${handles}` : subject;
      handles++;
      return new NatsLog({ connection, stream, subject: to });
    };
  };
  const subjects = own ? 'a subject for each node' : 'one subject';
  contract(`NATS ${server.version}, ${subjects}`, open, async () => {
    const { connect, close } = await temporaryBrokers(server);
    connections = [await connect('a'), await connect('b')];
    return close;
  });
}

await withNatsServer('ordered log: NATS', (server) => {
  for (const own of [false, true]) contractOfNats(server, own);
});
