/** Two cores and an edge, whose messages all come, or none. */
import { expect, it } from 'vitest';
import { MarksExchange } from '../../../src/cluster/scans/marks-exchange.ts';
import type { JournalPosition } from '../../../src/cluster/scans/scan-messages.ts';
import { Signal } from '../../../src/model/signal.ts';
import { VirtualTime } from '../simulation/virtual-time.ts';

class Network {
  readonly #listeners = new Set<(bytes: Uint8Array, subject: string) => void>();
  isAway = false;
  messages = 0;

  publish(subject: string, bytes: Uint8Array): void {
    if (this.isAway) return;
    this.messages++;
    for (const listener of this.#listeners) listener(bytes, subject);
  }

  subscribe(_: string, listener: (bytes: Uint8Array, subject: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  get listeners(): number {
    return this.#listeners.size;
  }
}

const time = new VirtualTime();
const timers = { monotonicMs: () => time.nowMs, after: time.later };

class Node {
  arrived: readonly JournalPosition[] = [];
  readonly counted = new Map<number, number>();
  savedSeq = 0;
  applied: readonly [number, number] = [0, 0];
  readonly coresChanged = new Signal();
  readonly exchange: MarksExchange;

  constructor(connection: Network, nodeName: string, journals: number[], cores?: string[]) {
    this.exchange = new MarksExchange({
      connection,
      timers,
      nodeName,
      journals,
      onArrived: (arrived) => {
        this.arrived = arrived;
      },
      ...(cores && {
        own: {
          savedSeq: () => this.savedSeq,
          counted: () => this.counted,
          cores: () => new Map(cores.map((name) => [name, 1])),
          coresChanged: this.coresChanged,
          applied: () => this.applied,
        },
      }),
    });
    this.exchange.start();
  }
}

it('all nodes know what the cores have, and an edge what enough of them have of its journals', async () => {
  const network = new Network();
  const cores = ['a', 'b'];
  const [a, b] = [new Node(network, 'a', [1], cores), new Node(network, 'b', [2], cores)];
  const edge = new Node(network, 'e', [3]);
  const pass = (ms: number): Promise<void> => time.run(time.nowMs + ms);
  a.counted.set(1, 10).set(2, 20).set(3, 30);
  b.counted.set(1, 11).set(2, 19).set(3, 31);
  b.savedSeq = 7;
  b.applied = [70, 71];
  await pass(2_100);
  expect([a.arrived, b.arrived, edge.arrived]).toEqual([[[1, 10]], [[2, 19]], [[3, 30]]]);
  expect(edge.exchange.marks.saved().get('b')).toBe(7);
  const applied = new Map([
    ['a', [0, 0]],
    ['b', [70, 71]],
  ]);
  expect(a.exchange.marks.applied()).toEqual(applied);
  a.counted.set(3, 40);
  b.counted.set(3, 40);
  await pass(2_000);
  expect(edge.arrived).toEqual([[3, 40]]);
  network.isAway = true;
  a.counted.set(3, 50).set(1, 50);
  b.counted.set(3, 50);
  await pass(2_000);
  network.isAway = false;
  // What was lost meanwhile comes with the next mark.
  expect(edge.arrived).toEqual([[3, 40]]);
  await pass(2_000);
  expect([a.arrived, edge.arrived]).toEqual([[[1, 11]], [[3, 50]]]);
  b.counted.set(1, 60);
  await pass(2_000);
  expect(b.exchange.marks.counted(1)).toBe(50);
  // It reports what it counted last at its end.
  a.counted.set(1, 60);
  a.exchange.stop();
  expect(b.exchange.marks.counted(1)).toBe(60);
  for (const { exchange } of [b, edge]) exchange.stop();
  const { messages } = network;
  await pass(20_000);
  expect([network.messages, network.listeners]).toEqual([messages, 0]);
});

it('a core that has just registered has nothing, so that no log is pruned below what it copies', async () => {
  const cores = ['a'];
  const { coresChanged, exchange } = new Node(new Network(), 'a', [1], cores);
  expect(exchange.marks.saved()).toEqual(new Map([['a', 0]]));
  cores.push('b');
  coresChanged.fire();
  const both = new Map([
    ['a', 0],
    ['b', 0],
  ]);
  expect(exchange.marks.saved()).toEqual(both);
  exchange.stop();
  cores.push('c');
  coresChanged.fire();
  expect(exchange.marks.saved()).toEqual(both);
});
