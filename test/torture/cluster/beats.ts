/**
 * Which nodes are connected, as the brokers have it: each node publishes a beat every 500 ms, and a leader waits for
 * those whose last one came within 2 s. Received here over a connection to each broker, so that a broker that dies hides no node.
 */
import { type Beat, readBeat } from '../../../src/cluster/nodes/beat-message.ts';
import type { NatsConnection } from '../../../src/cluster/nats/nats-connection.ts';
import { openNats } from '../../cluster/nats/brokers.ts';

/** Shorter than a leader's: a node whose beats come late is not counted on. */
const recentMs = 1_000;
/** So long without a gap. */
const steadyMs = 2_000;

interface Received {
  /** The start of its process. */
  readonly instance: string;
  atMs: number;
  /** Since then no beat was late. */
  sinceMs: number;
}

export class Beats {
  readonly #connections: readonly NatsConnection[];
  readonly #received = new Map<string, Received>();

  private constructor(connections: readonly NatsConnection[]) {
    this.#connections = connections;
    for (const connection of connections) {
      for (const subject of ['qz.nodes.*', 'qz.edge.*.beat']) {
        connection.subscribe(subject, (bytes) => this.#take(readBeat(bytes)));
      }
    }
  }

  static async open(urls: readonly string[]): Promise<Beats> {
    const options = urls.map((url) => ({ servers: [url], nodeName: 'run' }));
    return new Beats(await Promise.all(options.map(openNats)));
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()));
  }

  /** @returns whether a beat of this node ever came */
  knows(node: string): boolean {
    return this.#received.has(node);
  }

  isConnected(node: string): boolean {
    const received = this.#received.get(node);
    const nowMs = performance.now();
    return (
      received !== undefined &&
      nowMs - received.atMs < recentMs &&
      nowMs - received.sinceMs > steadyMs
    );
  }

  #take(beat: Beat | undefined): void {
    if (beat === undefined) return;
    const { name, instance, isLast } = beat;
    const nowMs = performance.now();
    const received = this.#received.get(name);
    const isSame = received?.instance === instance && nowMs - received.atMs <= recentMs;
    // The last one of a process comes again from each broker.
    if (isLast) this.#received.set(name, { instance, atMs: -Infinity, sinceMs: nowMs });
    else if (isSame) received.atMs = nowMs;
    else this.#received.set(name, { instance, atMs: nowMs, sinceMs: nowMs });
  }
}
