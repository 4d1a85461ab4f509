/** The log on a real broker that is killed, frozen and meddled with: readings end or continue, and what was acknowledged stays. */
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { NatsConnection } from '../../../src/cluster/nats/nats-connection.ts';
import { NatsLog } from '../../../src/cluster/nats/nats-log.ts';
import { ensureStream } from '../../../src/cluster/nats/nats-stream.ts';
import { pause } from '../../support/process.ts';
import { withNatsServer, temporaryBrokers } from './brokers.ts';
import { LogRecorder } from '../log/log-recorder.ts';
import type { NatsServer } from '../../../config/demo/nats-server.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** @returns what was acked, by position */
async function fill(to: NatsLog, prefix: string, count: number): Promise<Map<number, string>> {
  const acked = new Map<number, string>();
  for (let number = 0; number < count; number++) {
    const text = `${prefix}${number}`;
    try {
      acked.set(await to.append(bytes(text)), text);
    } catch {
      await pause(20);
      number--;
    }
  }
  return acked;
}

const expectKept = (acked: ReadonlyMap<number, string>): void => {
  expect(recorder.violations).toEqual([]);
  for (const [seq, text] of acked) expect(recorder.text(seq)).toBe(text);
};

let opened: Awaited<ReturnType<typeof temporaryBrokers>>;
let connection: NatsConnection;
/** Of one test: a stream of its own, with a log and a reading of it. */
let stream = 'S0';
let subject: string;
let log: NatsLog;
let recorder: LogRecorder;

async function openStream(): Promise<void> {
  stream = `S${Number(stream.slice(1)) + 1}`;
  subject = stream.toLowerCase();
  await ensureStream(connection, { stream, subject, replicas: 1 });
  log = new NatsLog({ connection, stream, subject });
  recorder = new LogRecorder(log, 1);
}

function faultsOn(server: NatsServer): void {
  beforeAll(async () => {
    opened = await temporaryBrokers(server);
    connection = await opened.connect('n1');
    return opened.close;
  });
  beforeEach(openStream);
  afterEach(() => recorder.stop());
  faultsOfBrokers();
  faultsOfStreams();
  faultsOfReaders();
}

function faultsOfBrokers(): void {
  test('a broker that is frozen is noticed, and nothing acked is lost', async () => {
    const acked = await fill(log, 'before', 5);
    await recorder.reached(5);
    opened.brokers.all[0]!.stop();
    // On a busy machine one of its threads still answers.
    await pause(100);
    await expect(log.bounds()).rejects.toThrow(
      `Cannot ask for the bounds of ${stream}: it does not answer`,
    );
    await expect(log.append(bytes('frozen'))).rejects.toThrow(`Cannot append to ${stream}: `);
    expect(recorder.endings).toBeGreaterThan(0);
    opened.brokers.all[0]!.resume();
    const after = await fill(log, 'after', 5);
    await recorder.reached(Math.max(...after.keys()));
    expectKept(acked);
    expectKept(after);
  });
}

function faultsOfStreams(): void {
  test('a reading whose consumer is deleted ends, and no consumer is left over', async () => {
    await fill(log, 'a', 3);
    await recorder.reached(3);
    const { manager } = await connection.ready(30_000);
    for await (const { name } of manager.consumers.list(stream))
      await manager.consumers.delete(stream, name);
    await expect.poll(() => recorder.endings).toBe(1);
    const after = await fill(log, 'b', 3);
    await recorder.reached(6);
    expectKept(after);
    recorder.stop();
    const consumers = async () => (await manager.streams.info(stream)).state.consumer_count;
    await expect.poll(consumers).toBe(0);
  });

  test('a stream that would lose entries is refused, and a hole in it ends the reading', async () => {
    const { manager } = await connection.ready(30_000);
    const [name, hole] = ['HOLED', 'holed'];
    await manager.streams.add({ name, subjects: [hole], max_age: 60e9, max_msgs: 9 });
    const ensured = ensureStream(connection, { stream: name, subject: hole, replicas: 1 });
    await expect(ensured).rejects.toThrow(
      'Cannot use the stream HOLED, which would lose entries: it has a max_age, expected none; it has max_msgs with discard old, expected none or discard new; single entries can be deleted, expected deny_delete',
    );
    const holed = new NatsLog({ connection, stream: name, subject: hole });
    await fill(holed, 'h', 4);
    await manager.streams.deleteMessage(name, 3);
    const seen: (number | string)[] = [];
    const end = ({ message }: Error): void => void seen.push(message);
    holed.follow(1, { entry: (seq) => void seen.push(seq), ended: end });
    const fault = `Cannot read ${name} on: entry 4 came instead of 3`;
    await expect.poll(() => seen).toEqual([1, 2, fault]);
  });

  test('an entry has the time of a broker; errors name a stream that is missing, was deleted, or has the subject of another', async () => {
    const { manager } = await connection.ready(30_000);
    const misled = new NatsLog({ connection, stream: 'OTHER', subject: subject });
    const beforeMs = Date.now();
    const appended = await log.append(bytes('timed'));
    // The time by which entries are pruned.
    expect(Math.abs((await log.timeOf(appended))! - beforeMs)).toBeLessThan(2_000);
    expect(await log.timeOf(appended + 1)).toBeUndefined();
    await expect(misled.append(bytes('x'))).rejects.toThrow(
      `Cannot append to OTHER: stream ${stream} took the entry`,
    );
    await expect(misled.bounds()).rejects.toThrow(
      'Cannot ask for the bounds of OTHER: stream not found',
    );
    const ended = new Promise<Error>(
      (end) => void misled.follow(1, { entry: () => {}, ended: end }),
    );
    expect((await ended).message).toBe('Cannot read OTHER on: stream not found');
    await manager.streams.delete(stream);
    await expect(log.append(bytes('x'))).rejects.toThrow(
      `Cannot append to ${stream}: it has no leader`,
    );
  });
}

function faultsOfReaders(): void {
  test('a report reaches who listens, also over the next connection', async () => {
    const other = await opened.connect('n2');
    const seen: string[] = [];
    const stop = other.subscribe('report.*', (body, subject) => {
      seen.push(`${subject} ${new TextDecoder().decode(body)}`);
    });
    const report = async (text: string): Promise<void> => {
      connection.publish('report.a', bytes(text));
      await expect.poll(() => seen.at(-1)).toBe(`report.a ${text}`);
    };
    await other.ready(1_000).then(({ client }) => client.flush());
    await report('one');
    await other.ready(1_000).then(({ client }) => client.close());
    await other.ready(5_000).then(({ client }) => client.flush());
    await report('two');
    stop();
    await other.ready(1_000).then(({ client }) => client.flush());
    connection.publish('report.a', bytes('three'));
    await connection.ready(1_000).then(({ client }) => client.flush());
    await other.close();
    expect(seen).toHaveLength(2);
  });

  test('a reader that is slower than heartbeats is not cut off', async () => {
    await fill(log, 'slow', 7);
    const sleeper = new Int32Array(new SharedArrayBuffer(4));
    const seen: number[] = [];
    log.follow(1, {
      entry: (seq) => {
        seen.push(seq);
        Atomics.wait(sleeper, 0, 0, 450);
      },
      ended: (error) => seen.push(Number.NaN, error.message.length),
    });
    await expect.poll(() => seen).toEqual([1, 2, 3, 4, 5, 6, 7]);
    await pause(100);
    await fill(log, 'more', 1);
    await expect.poll(() => seen).toHaveLength(8);
    expect(recorder.endings).toBe(0);
  });
}

await withNatsServer('faults of NATS', (found) => {
  faultsOn(found);
});
